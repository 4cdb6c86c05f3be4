"""Samples printed by `perf script -F period,ip,sym,dso`: call stacks, the innermost frame first.

A sample is a line with its period, a line for each frame (address, symbol, object in parentheses),
and an empty line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from slowdust.formats.call_graph import (
    CallGraph,
    Function,
    folded_name,
    has_name,
    object_name,
)
from slowdust.store.profile import FunctionCost, Profile

FIELDS = "period,ip,sym,dso"
"""The fields requested from perf."""
KERNEL = "kernel"
"""Object name for functions of the kernel."""
_FRAME = re.compile(r"^\s*[0-9a-f]+ (.+?) \(([/\[].*?)(?: \(deleted\))?\)$", re.MULTILINE)
_NAMES_OF_KERNEL = ("[kernel.kallsyms]", "[kernel.vmlinux]", "[guest.kernel.kallsyms]")


def read_samples(text: str) -> Iterator[tuple[int, list[Function]]]:
    """Yield the period and the call stack of each sample, the outermost function first.

    Consecutive frames of one object without symbols become one frame. Samples without a stack are
    skipped.
    """
    for block in text.split("\n\n"):
        header, _, body = block.strip("\n").partition("\n")
        period = header.split()[0] if header.split() else ""
        stack: list[Function] = []
        for name, path in _FRAME.findall(body):
            of = KERNEL if path in _NAMES_OF_KERNEL else object_name(path.strip("[]"))
            function = Function(folded_name(name), of, 1)
            if not stack or has_name(name) or stack[-1].shown != function.shown:
                stack.append(function)
        if period.isdigit() and stack:
            yield int(period), stack[::-1]


def read_profile(
    text: str, *, benchmark: str, test: str, clients: int, contender: str, operations: int
) -> Profile:
    """Return the profile of samples taken during `operations` operations.

    Periods are nanoseconds of CPU time: the cost of a function per operation is the sum of the
    periods of its samples / operations. A recursive function counts once in a sample.
    """
    own: Counter[tuple[str, str]] = Counter()
    inclusive: Counter[tuple[str, str]] = Counter()
    stacks: Counter[str] = Counter()
    graph = CallGraph()
    samples = 0
    for period, stack in read_samples(text):
        samples += 1
        own[stack[-1].shown] += period
        inclusive.update(dict.fromkeys((function.shown for function in stack), period))
        stacks[";".join(function.frame for function in stack)] += period
        graph.own[stack[-1]] += period
    costs = [
        FunctionCost(*shown, own[shown] / operations, cost / operations)
        for shown, cost in inclusive.items()
    ]
    return Profile(
        benchmark=benchmark,
        test=test,
        clients=clients,
        contender=contender,
        source="perf",
        unit="ns",
        operations=operations,
        samples=samples,
        functions=sorted(costs, key=lambda cost: (-cost.own, cost.name, cost.object)),
        stacks={stack: period / operations for stack, period in stacks.items()},
        unnamed_objects=graph.unnamed_objects(),
    )
