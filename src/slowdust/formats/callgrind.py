"""Output of valgrind's callgrind: the call graph of one window, as `callgrind.out` files have it.

The format is that of the manual of valgrind, chapter "Callgrind Format Specification". Names are
written once and then by number, `fn=(12) name` and `fn=(12)`; a line of cost is a position and a
number for each event, without the zeros at its end; the line behind `calls=` has the cost of the
calls with all that they called.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from slowdust.errors import SlowdustError
from slowdust.formats.call_graph import CallGraph, Function, folded_name, object_name
from slowdust.store.profile import Profile

INSTRUCTIONS = "Ir"
"""Callgrind's event of an instruction that was carried out."""

_POSITION = frozenset("0123456789+-*")
"""First letters of a line of cost, whose position may be relative to the last."""
_LEVEL = re.compile(r"'(\d+)$")
_NAME = re.compile(r"\((\d+)\)(?: (.*))?$", re.DOTALL)


@dataclass(frozen=True)
class Header:
    """What a file says about itself."""

    process: int
    """Process id."""
    thread: int
    """Number of the thread, from 1 in each process."""
    trigger: str
    """Reason of the dump: 'Program termination', or the words that the program gave."""
    events: dict[str, int]
    """Event (`Ir`: instructions; `sysCount`: system calls) -> its number in the whole file."""


def read_header(text: str) -> Header:
    """Return what a file says about itself.

    Raises:
        SlowdustError: it is not a whole file of callgrind.
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
        raise SlowdustError(f"not a whole file of callgrind: {error}") from error


def read_totals(text: str) -> dict[str, int]:
    """Return the events of a whole file; raise SlowdustError as `read_header`."""
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
    """Return the profile of a window from the files of its processes and threads, added up.

    Costs are instructions per operation. The library by which Slowdust gives its orders is left
    out: its own costs, not what it calls.

    Raises:
        SlowdustError: a text is not a whole file of callgrind.
    """
    graph = CallGraph()
    for text in texts:
        _add(graph, text)
    graph.leave_out(is_slowdust)
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
    """Return whether a function is of the library that Slowdust loads into servers to count."""
    return re.match(r"count-[0-9a-f]+\.so$", function.object) is not None


def _add(graph: CallGraph, text: str) -> None:
    """Add a file to a graph.

    Files and lines of the source are of no use here: a function's cost is the sum over the files
    that were inlined into it (`fi=`, `fe=`).
    """
    header = read_header(text)
    if not re.search(r"^totals: ", text, re.MULTILINE):
        raise SlowdustError("not a whole file of callgrind: it has no end")
    try:
        _add_body(graph, text, list(header.events).index(INSTRUCTIONS) + 1)
    except (KeyError, ValueError) as error:
        raise SlowdustError(f"not a whole file of callgrind: {error}") from error


def _add_body(graph: CallGraph, text: str, event: int) -> None:
    """Add all functions and calls of a file; `event` is the column of the instructions."""
    known: dict[tuple[str, str], str] = {}
    """Names of objects and functions by the numbers that stand for them."""

    def named(kind: str, value: str) -> str:
        """Return the name of `(12)`, `(12) name` or `name`."""
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
    """Return the function of a name, whose suffix `'2` is its level of recursion."""
    level = _LEVEL.search(name)
    return Function(
        name=folded_name(_LEVEL.sub("", name)),
        object=object_,
        level=int(level[1]) if level else 1,
    )
