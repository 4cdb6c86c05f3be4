"""Builds that a fleet compiles: what is to be compiled, by which compiler, and on which node.

Contenders are compared, so that all sources are compiled by one version of a compiler: the head's,
if it can compile them, so that new builds go with those in its cache; else that of most nodes.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowdust import __version__, builds
from slowdust.accounts import server_account
from slowdust.builds import Choices, Progress
from slowdust.builds.apart import Assignment, Compilation
from slowdust.builds.handed_on import HandedOn, name_of
from slowdust.errors import SlowdustError
from slowdust.experiment.spec.errors import at
from slowdust.experiment.spec.spec import Spec
from slowdust.fleet.building import handing
from slowdust.fleet.model import Able, Begun, Compilers, Lost, Made, NotMade, Report
from slowdust.fleet.view import FleetView
from slowdust.temporary import ENTERABLE, temporary_folder
from slowdust.units import Second, format_duration
from slowdust.wording import first_line, listing

_POLL: Second = 1.0
_BEGINS_WITHIN: Second = 30.0
"""Time after which a node that measures, and has not begun, has to leave a build to an idle one."""
_MOST_LOSSES = 3
"""Nodes that a build may lose."""


def compile_builds(spec: Spec, compilers: Compilers, view: FleetView) -> list[HandedOn]:
    """Return the builds of an experiment that are compiled, those not in the cache made by nodes.

    Raises:
        UsageError: an unknown revision, or flags of what is not compiled.
        SlowdustError: no node can compile one, or it failed.
    """
    wanted = _wanted(spec, view.event)
    found = _cached_here(wanted)
    if found is None:
        found = _compiled(wanted, compilers, view)
    return found


def _wanted(spec: Spec, progress: Progress) -> dict[str, Compilation]:
    """Return the compilations of an experiment, by the names of the builds."""
    wanted: dict[str, Compilation] = {}
    for planned in spec.planned_contenders():
        name = planned.name
        if name.dbms is None or name.version is None:
            continue
        text = name_of(name.dbms, name.version, name.flags)
        if text not in wanted:
            with at("contenders", planned.place):
                choices = Choices(repository=spec.repo, flags=name.flags)
                compilation = builds.compilation(name.dbms, name.version, choices, progress)
            if compilation is not None:
                wanted[text] = compilation
    return wanted


def _cached_here(wanted: Mapping[str, Compilation]) -> list[HandedOn] | None:
    """Return the builds if the cache has all of them, of this machine's compiler; else None."""
    found = []
    for name, compilation in wanted.items():
        try:
            build = compilation.assignment.cached(compilation.assignment.compiler())
        except SlowdustError:  # this machine cannot compile it
            return None
        if build is None:
            return None
        found.append(handing.handed_on(name, build))
    return found


def _compiled(
    wanted: Mapping[str, Compilation], compilers: Compilers, view: FleetView
) -> list[HandedOn]:
    """Return the builds, by one compiler; nodes make those that the cache does not have."""
    with temporary_folder(server_account().temporary_root(), ENTERABLE) as directory:
        assignments, sources = {}, {}
        for number, (name, compilation) in enumerate(wanted.items()):
            view.event(f"exporting the sources of {name}")
            sources[name] = directory / f"{number}.tar.gz"
            assignments[name] = _exported(compilation, sources[name])
        answers = compilers.able([*assignments.values()])
        nodes = nodes_that_can(assignments, answers, compilers.head())
        missing = {
            name: (assignment, sources[name])
            for name, assignment in assignments.items()
            if assignment.cached(nodes[name].compiler) is None
        }
        Work(missing, nodes, compilers, view).run()
    found = []
    for name, assignment in assignments.items():
        build = assignment.cached(nodes[name].compiler)
        if build is None:
            raise SlowdustError(f"{name} was compiled, and is not in the cache")
        found.append(handing.handed_on(name, build))
    return found


def _exported(compilation: Compilation, archive: Path) -> Assignment:
    """Write the sources into an archive; return the assignment with what they tell."""
    folder = archive.with_suffix(".folder")
    assignment = compilation.exported(folder)
    archive.write_bytes(handing.archive_of(folder))
    shutil.rmtree(folder)
    return assignment


@dataclass(frozen=True)
class Nodes:
    """The nodes that can compile a build, and the version of their compiler."""

    compiler: str
    names: frozenset[str]


def nodes_that_can(
    assignments: Mapping[str, Assignment], answers: Mapping[str, Able | Lost], head: str
) -> dict[str, Nodes]:
    """Return the nodes that are to compile each build, all of which have one compiler.

    Raises:
        SlowdustError: no compiler can make all builds that go together; says what is missing.
    """
    usable = {
        node: answer.compilers
        for node, answer in answers.items()
        if isinstance(answer, Able) and answer.slowdust == __version__
    }
    result: dict[str, Nodes] = {}
    for kind in dict.fromkeys(each.compilers for each in assignments.values()):
        names = [name for name, each in assignments.items() if each.compilers == kind]
        compiler = _chosen(names, usable, head)
        if compiler is None:
            raise SlowdustError(_nobody(names, answers))
        for name in names:
            able = [node for node, can in usable.items() if can.get(name) == compiler]
            result[name] = Nodes(compiler, frozenset(able))
    return result


def _chosen(names: Sequence[str], usable: Mapping[str, Mapping[str, str]], head: str) -> str | None:
    """Return the version of the compiler for some builds: the head's, or that of most nodes."""
    by_node = {node: {can[name] for name in names if name in can} for node, can in usable.items()}
    own = by_node.get(head, set())
    counts = Counter(version for versions in by_node.values() for version in versions)
    for compiler in sorted(counts, key=lambda each: (each not in own, -counts[each], each)):
        if all(any(can.get(name) == compiler for can in usable.values()) for name in names):
            return compiler
    return None


def _nobody(names: Sequence[str], answers: Mapping[str, Able | Lost]) -> str:
    reasons = []
    for node, answer in sorted(answers.items()):
        if isinstance(answer, Lost):
            reasons.append(f"{node}: {answer.reason}")
        elif answer.slowdust != __version__:
            reasons.append(f"{node} has Slowdust {answer.slowdust}, the head {__version__}")
        else:
            lacking = [answer.lacks[name] for name in names if name in answer.lacks]
            reasons += [f"{node}: {each}" for each in lacking[:1]] or [
                f"{node} has {answer.compilers[names[0]]}, others another compiler"
            ]
    told = "; ".join(reasons) or "no node answers"
    return f"no node of the cluster can compile {listing(names)}: {told}"


@dataclass
class _Task:
    """A build that a node is to compile."""

    name: str
    assignment: Assignment
    sources: Path
    """The archive."""
    losses: int = 0
    excluded: set[str] = field(default_factory=set)
    """Nodes that do not compile it any more."""


class Work:
    """The compilation of builds on the nodes of a cluster, one at a time on each."""

    def __init__(
        self,
        missing: Mapping[str, tuple[Assignment, Path]],
        nodes: Mapping[str, Nodes],
        compilers: Compilers,
        view: FleetView,
    ) -> None:
        self._waiting = [_Task(name, *what) for name, what in missing.items()]
        self._nodes = nodes
        self._compilers = compilers
        self._view = view
        self._busy: dict[str, _Task] = {}
        self._given: dict[str, Second] = {}
        """Node -> when its task was given to it."""
        self._begun: dict[str, Second] = {}
        """Node -> when it began its task."""
        self._gone: set[str] = set()
        """Nodes that were lost."""
        self._failures: list[str] = []

    def run(self) -> None:
        """Compile all, and put what was compiled into the cache of this machine.

        After a failure nothing more is begun, and what is compiled then is kept.

        Raises:
            SlowdustError: a compilation failed, or no node is left for one.
        """
        try:
            while self._waiting or self._busy:
                self._hand_out()
                self._move_late_ones()
                for node, report in self._compilers.reports(_POLL):
                    self._hear(node, report)
        finally:
            self._compilers.cancel([*self._busy])
        if self._failures:
            raise SlowdustError("; ".join(self._failures))

    def _hand_out(self) -> None:
        for task in [*self._waiting]:
            able = self._able(task)
            idle = sorted(able - self._busy.keys())
            if not able:
                self._waiting.clear()
                self._failures.append(f"no node is left that can compile {task.name}")
                return
            if idle:
                self._waiting.remove(task)
                self._give(task, idle[0])

    def _able(self, task: _Task) -> frozenset[str]:
        return self._nodes[task.name].names - self._gone - task.excluded

    def _give(self, task: _Task, node: str) -> None:
        self._busy[node] = task
        self._given[node] = self._compilers.now()
        self._compilers.compile(node, task.assignment, task.sources.read_bytes())

    def _move_late_ones(self) -> None:
        """Give to idle nodes what waits on others behind an experiment that is measured there."""
        for node, task in [*self._busy.items()]:
            late = self._compilers.now() - self._given[node] > _BEGINS_WITHIN
            idle = sorted(self._able(task) - self._busy.keys())
            if late and idle and node not in self._begun:
                self._compilers.cancel([node])
                del self._busy[node]
                task.excluded.add(node)
                self._give(task, idle[0])

    def _hear(self, node: str, report: Report) -> None:
        if node not in self._busy:
            return
        task = self._busy[node]
        if isinstance(report, Begun):
            self._begun[node] = self._compilers.now()
            compiler = self._nodes[task.name].compiler
            self._view.event(f"{node}: compiling {task.name} with {compiler}")
            return
        del self._busy[node]
        began = self._begun.pop(node, self._compilers.now())
        if isinstance(report, Made):
            handing.put(report.bundle, report.archive)
            took = format_duration(round(self._compilers.now() - began))
            self._view.event(f"{node}: compiled {task.name} in {took}")
        elif isinstance(report, NotMade):
            self._fail(f"{task.name} cannot be compiled on {node}: {first_line(report.reason)}")
        else:
            self._lose(node, task, report.reason)

    def _fail(self, failure: str) -> None:
        self._failures.append(failure)
        self._waiting.clear()
        if self._busy:
            self._view.warning(f"{failure}; what others compile now is awaited, and kept")

    def _lose(self, node: str, task: _Task, reason: str) -> None:
        self._gone.add(node)
        task.losses += 1
        self._view.warning(f"{node} is lost while it compiles {task.name}: {reason}")
        if task.losses >= _MOST_LOSSES:
            self._fail(f"{task.name} was lost on {task.losses} nodes: {reason}")
        elif not self._failures:
            self._waiting.insert(0, task)
