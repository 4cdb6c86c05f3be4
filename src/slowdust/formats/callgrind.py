"""Output of valgrind's callgrind: the call graph of one window, from `callgrind.out` files.

The format is described in valgrind's manual, chapter "Callgrind Format Specification". Names are
written once and then referenced by number, `fn=(12) name` and `fn=(12)`. A cost line is a position
and a number for each event, without trailing zeros. The line after `calls=` has the inclusive cost
of the calls.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from slowdust.errors import SlowdustError
from slowdust.formats.call_graph import CallGraph, Function, folded_name, object_name
from slowdust.store.profile import Profile

INSTRUCTIONS = "Ir"
"""Callgrind's event for executed instructions."""

_POSITION = frozenset("0123456789+-*")
"""First characters of a cost line; its position may be relative to the previous one."""
_LEVEL = re.compile(r"'(\d+)$")
_NAME = re.compile(r"\((\d+)\)(?: (.*))?$", re.DOTALL)


@dataclass(frozen=True)
class Header:
    """The header of a file."""

    process: int
    """Process id."""
    thread: int
    """Number of the thread, from 1 in each process."""
    trigger: str
    """Reason of the dump: 'Program termination', or the program's own words."""
    events: dict[str, int]
    """Event (`Ir`: instructions; `sysCount`: system calls) -> total of the file."""


def read_header(text: str) -> Header:
    """Read the header of a file.

    Raises:
        SlowdustError: it is not a complete callgrind file.
    """
    fields: dict[str, str] = {}
    trigger = ""
    for line in text.splitlines():
        key, separator, value = line.partition(":")
        if line.startswith("desc: Trigger: "):
            trigger = line.removeprefix("desc: Trigger: ").removeprefix("Client Request: ")
        elif separator and key in {"pid", "thread", "events", "summary"}:
            fields[key] = value.strip()
        if "summary" in fields:
            break
    try:
        names = fields["events"].split()
        numbers = [int(number) for number in fields["summary"].split()]
        return Header(
            process=int(fields["pid"]),
            thread=int(fields.get("thread", "1")),
            trigger=trigger,
            events=dict(zip(names, numbers + [0] * len(names), strict=False)),
        )
    except (KeyError, ValueError) as error:
        raise SlowdustError(f"not a complete callgrind file: {error}") from error


def read_totals(text: str) -> dict[str, int]:
    """Return the total of each event; raise SlowdustError as `read_header` does."""
    return read_header(text).events


def read_profile(
    texts: Sequence[str],
    *,
    benchmark: str,
    test: str,
    clients: int,
    contender: str,
    operations: int,
) -> Profile:
    """Return the profile of a window, added up over the files of its processes and threads.

    Costs are instructions per operation. The own costs of the library through which Slowdust
    controls counting are excluded; its callees are included.

    Raises:
        SlowdustError: a text is not a complete callgrind file.
    """
    graph = CallGraph()
    for text in texts:
        _add(graph, text)
    graph.exclude(is_slowdust)
    functions = graph.functions(operations)
    return Profile(
        benchmark=benchmark,
        test=test,
        clients=clients,
        contender=contender,
        source="callgrind",
        unit="instructions",
        operations=operations,
        functions=functions,
        stacks=graph.stacks(operations),
        calls=graph.calls_of(functions, operations),
        unnamed_objects=graph.unnamed_objects(),
    )


def is_slowdust(function: Function) -> bool:
    """Return whether a function is from the library that Slowdust loads into servers to count."""
    return re.match(r"count-[0-9a-f]+\.so$", function.object) is not None


def _add(graph: CallGraph, text: str) -> None:
    """Add a file to a graph.

    Source files and lines are ignored: a function's cost is the sum over the files that were
    inlined into it (`fi=`, `fe=`).
    """
    header = read_header(text)
    if not re.search(r"^totals: ", text, re.MULTILINE):
        raise SlowdustError("not a complete callgrind file: its end is missing")
    try:
        _add_body(graph, text, list(header.events).index(INSTRUCTIONS) + 1)
    except (KeyError, ValueError) as error:
        raise SlowdustError(f"not a complete callgrind file: {error}") from error


def _add_body(graph: CallGraph, text: str, event: int) -> None:
    """Add the functions and calls of a file; `event` is the column of instructions."""
    known: dict[tuple[str, str], str] = {}
    """Kind and number -> name of an object or function."""

    def named(kind: str, value: str) -> str:
        """Return the name in `(12)`, `(12) name` or `name`."""
        if (match := _NAME.match(value)) is None:
            return value
        if match[2] is not None:
            known[kind, match[1]] = match[2]
        return known[kind, match[1]]

    caller: Function | None = None
    own_object = callee_object = ""
    callee_name = ""
    calls: int | None = None
    for line in text.splitlines():
        key, separator, value = line.partition("=")
        if not separator:
            if caller is None or line[:1] not in _POSITION:
                continue
            columns = line.split()
            cost = int(columns[event]) if len(columns) > event else 0
            if calls is not None:
                graph.add_calls(caller, _function(callee_name, callee_object), calls, cost)
                callee_object, calls = own_object, None
            else:
                graph.own[caller] += cost
        elif key == "fn":
            caller = _function(named("fn", value), own_object)
        elif key == "ob":
            own_object = callee_object = object_name(named("ob", value))
        elif key == "cob":
            callee_object = object_name(named("ob", value))
        elif key == "cfn":
            callee_name = named("fn", value)
        elif key == "calls":
            calls = int(value.split()[0])


def _function(name: str, object_: str) -> Function:
    """Return the function with this name; the suffix `'2` is its recursion level."""
    level = _LEVEL.search(name)
    return Function(
        name=folded_name(_LEVEL.sub("", name)),
        object=object_,
        level=int(level[1]) if level else 1,
    )
