"""Flame graphs in the page: drawn by `slowdust-flamegraph`, compressed, shown when asked for."""

from __future__ import annotations

import base64
import gzip
import os
import re
import shutil
import subprocess
import sysconfig
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from slowdust.analysis.functions.changes import profiles_by_step
from slowdust.errors import SlowdustError
from slowdust.report.sections.evidence import cost_per_operation
from slowdust.stats.blocks import Step
from slowdust.store.profile import Profile

BINARY = "slowdust-flamegraph"
_HEIGHT = re.compile(rb'<svg [^>]*?height="(\d+)"')


@dataclass(frozen=True)
class FlameGraph:
    """One graph."""

    title: str
    height: int
    """Height in pixels."""
    data: str
    """The SVG, by gzip and base64."""


@dataclass(frozen=True)
class FlameGraphs:
    """The graphs of one step."""

    graphs: tuple[FlameGraph, ...]
    compared: bool
    missing: bool


@dataclass(frozen=True)
class _Order:
    """A graph that is to be drawn."""

    title: str
    unit: str
    stacks: Mapping[str, float]
    """Call stack -> cost, the width."""
    beside: Mapping[str, float] | None = None
    """Call stack -> cost in the contender that it is compared with."""
    negate: bool = False
    """Whether `stacks` are the base's: red is then what the contender has more of."""


def flame_graphs(profiles: Sequence[Profile], contenders: Sequence[str]) -> dict[Step, FlameGraphs]:
    """Return the graphs of each step: one for each contender, and two for each but the base.

    `contenders` begin with the base. Widths are costs per operation. A differential graph has the
    widths of one of the two, and shows by colours where the contender does more or less.

    Raises:
        SlowdustError: a graph cannot be drawn.
    """
    program = _program()
    drawn: dict[Step, FlameGraphs] = {}
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for (step, _), by_contender in profiles_by_step(profiles).items():
            orders = _orders(by_contender, contenders)
            graphs = [] if program is None else list(threads.map(_drawing_by(program), orders))
            earlier = drawn.get(step, FlameGraphs((), compared=False, missing=False))
            compared = earlier.compared or any(order.beside is not None for order in orders)
            drawn[step] = FlameGraphs((*earlier.graphs, *graphs), compared, missing=program is None)
    return drawn


def _program() -> Path | None:
    """Find the program: `SLOWDUST_FLAMEGRAPH`, next to this Python's scripts, or on PATH."""
    named = os.environ.get("SLOWDUST_FLAMEGRAPH")
    beside = Path(sysconfig.get_path("scripts")) / BINARY
    binary = named or (str(beside) if beside.is_file() else shutil.which(BINARY))
    return Path(binary) if binary else None


def _orders(profiles: Mapping[str, Profile], contenders: Sequence[str]) -> list[_Order]:
    base, *others = contenders
    # Nothing is drawn of a profile without samples, whose widths would all be 0.
    profiles = {name: profile for name, profile in profiles.items() if _has_width(profile)}
    shown = [profiles[name] for name in contenders if name in profiles]
    orders = [
        _Order(f"{profile.contender}: {_cost(profile)}", profile.unit, profile.stacks)
        for profile in shown
    ]
    if (before := profiles.get(base)) is None:
        return orders
    for after in (profiles[name] for name in others if name in profiles):
        name, unit = after.contender, after.unit
        there = f"{name}, in colours compared with {base}: {_cost(after)}"
        here = f"{base}, in colours compared with {name}: {_cost(before)}"
        orders += [
            _Order(there, unit, after.stacks, before.stacks),
            _Order(here, unit, before.stacks, after.stacks, negate=True),
        ]
    return orders


def _cost(profile: Profile) -> str:
    return cost_per_operation(profile.source, profile.unit)


def _has_width(profile: Profile) -> bool:
    return any(round(cost) for cost in profile.stacks.values())


def _drawing_by(program: Path) -> Callable[[_Order], FlameGraph]:
    def draw(order: _Order) -> FlameGraph:
        negate = ["--negate"] if order.negate else []
        options = ["--title", order.title, "--unit", f"{order.unit} per operation", *negate]
        drawing = subprocess.run(
            [program, *options], input=_lines(order).encode(), capture_output=True, check=False
        )
        if drawing.returncode:
            raise SlowdustError(
                f"cannot draw a flame graph: {drawing.stderr.decode(errors='replace').strip()}"
            )
        height = _HEIGHT.search(drawing.stdout)
        assert height is not None, "an SVG has a height"
        return FlameGraph(
            title=order.title,
            height=int(height[1]),
            data=base64.b64encode(gzip.compress(drawing.stdout, mtime=0)).decode(),
        )

    return draw


def _lines(order: _Order) -> str:
    """Return the graph's stacks as the program reads them; costs are whole numbers.

    In a differential graph the number next to a stack's cost is what it would be if its innermost
    function had changed there as it did over all stacks: versions seldom have whole stacks alike.
    """
    if order.beside is None:
        return "".join(f"{stack} {round(cost)}\n" for stack, cost in order.stacks.items())
    here, there = _own_costs(order.stacks), _own_costs(order.beside)
    return "".join(
        f"{stack} {round(cost * there[leaf] / here[leaf])} {round(cost)}\n"
        for stack, cost in order.stacks.items()
        for leaf in [_innermost(stack)]
    )


def _own_costs(stacks: Mapping[str, float]) -> defaultdict[str, float]:
    costs: defaultdict[str, float] = defaultdict(float)
    for stack, cost in stacks.items():
        costs[_innermost(stack)] += cost
    return costs


def _innermost(stack: str) -> str:
    return stack.rpartition(";")[2]
