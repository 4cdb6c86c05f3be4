"""Nodes compile what the head lacks, by one compiler; others do what a lost node had."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from slowdust import __version__
from slowdust.builds.apart import Assignment, OfRevision
from slowdust.errors import SlowdustError
from slowdust.experiment.spec.spec import Spec, parse_spec
from slowdust.fleet.building import workshop
from slowdust.fleet.building.compiling import compile_builds, nodes_that_can
from slowdust.fleet.model import Able, Begun, Lost, Report
from slowdust.units import Second
from tests.tiers.selection import full, needs
from tests.unit.builds.source_projects import VERSION, commit, postgres_sources, write
from tests.unit.synthetic_fleet import Heard

OLD, NEW, BROKEN = "postgres@git:old", "postgres@git:new", "postgres@git:broken"
GCC = "gcc 12"

needs_compiler = needs("cc", "make", "git")


@dataclass
class Node:
    """A node with a cache of its own, and what becomes of it."""

    cache: Path
    compiler: str = "gcc"
    dies: bool = False
    measures: bool = False
    """Whether it measures something else, and begins nothing."""
    compiled: list[str] = field(default_factory=list)


class Nodes:
    """Nodes that compile one after the other by what a real node does, each in its own cache."""

    def __init__(self, nodes: dict[str, Node], patch: pytest.MonkeyPatch) -> None:
        self.nodes = nodes
        self.asked = 0
        self.cancelled: list[str] = []
        self.interrupted = False
        """Whether the head gets Ctrl-C while nodes compile."""
        self._patch = patch
        self._orders: list[tuple[str, Assignment, bytes]] = []
        self._clock = 0.0

    def head(self) -> str:
        return "head"

    def able(self, assignments: Sequence[Assignment]) -> Mapping[str, Able | Lost]:
        self.asked += 1
        return {name: self._at(node, assignments) for name, node in self.nodes.items()}

    def _at(self, node: Node, assignments: Sequence[Assignment]) -> Able:
        with self._patch.context() as patch:
            patch.setenv("CC", node.compiler)
            return workshop.able(assignments)

    def compile(self, node: str, assignment: Assignment, sources: bytes) -> None:
        self._orders.append((node, assignment, sources))

    def cancel(self, nodes: Collection[str]) -> None:
        self.cancelled += nodes
        self._orders = [order for order in self._orders if order[0] not in nodes]

    def reports(self, within: Second) -> Sequence[tuple[str, Report]]:
        self._clock += within
        if self.interrupted:
            raise KeyboardInterrupt
        for order in self._orders:
            name, assignment, sources = order
            node = self.nodes[name]
            if node.measures:
                continue
            self._orders.remove(order)
            if node.dies:
                return [(name, Begun()), (name, Lost(reason="its node has ended"))]
            node.compiled.append(assignment.name)
            with self._patch.context() as patch:
                patch.setenv("SLOWDUST_CACHE", str(node.cache))
                patch.setenv("CC", node.compiler)
                return [(name, report) for report in workshop.compiled(assignment, sources)]
        return []

    def now(self) -> Second:
        return self._clock


@pytest.fixture
def spec(open_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Spec:
    """An experiment with two commits; the head has an empty cache and no compiler."""
    monkeypatch.setenv("SLOWDUST_CACHE", str(open_dir / "head"))
    monkeypatch.setenv("SLOWDUST_DATA", str(open_dir / "data"))
    monkeypatch.setenv("CC", "no-compiler")
    repository = postgres_sources(open_dir / "repository")
    commit(repository, "Begin", "old")
    write(repository, {"src/backend/version.c": VERSION.replace("15.18", "15.19")})
    commit(repository, "Release another", "new")
    write(repository, {"src/backend/version.c": "int version = ;\n"})
    commit(repository, "Break it", "broken")
    return spec_of(repository, OLD, NEW)


def spec_of(repository: Path | str, *contenders: str) -> Spec:
    return parse_spec({"name": "n", "contenders": [*contenders], "repo": str(repository)})


@pytest.fixture
def nodes(open_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Nodes:
    """The head without a compiler, and two nodes that have one."""
    own = {"head": "no-compiler", "a": "gcc", "b": "gcc"}
    return Nodes({name: Node(open_dir / name, cc) for name, cc in own.items()}, monkeypatch)


@needs_compiler
def test_nodes_share_the_builds_and_the_head_has_them_with_their_provenance(
    spec: Spec, nodes: Nodes, open_dir: Path
) -> None:
    view = Heard()
    made = {each.name: each for each in compile_builds(spec, nodes, view)}
    assert nodes.nodes["a"].compiled + nodes.nodes["b"].compiled == [OLD, NEW]
    assert len(nodes.nodes["b"].compiled) == 1
    assert [made[name].facts.version for name in (OLD, NEW)] == ["15.18", "15.19"]
    compiled = made[NEW].facts.compiled
    assert compiled is not None
    assert (compiled.ref, compiled.subject) == ("new", "Release another")
    assert compiled.place == str(open_dir / "repository")
    for name, cache in ((OLD, "head"), (OLD, "a"), (NEW, "head"), (NEW, "b")):
        assert (open_dir / cache / made[name].folder / "build.json").is_file()
    events = [text.split(" with ")[0].split(" in ")[0] for text in view.events]
    assert [e for e in events if e.startswith("a:")] == [
        f"a: compiling {OLD}",
        f"a: compiled {OLD}",
    ]
    again = {each.name: each for each in compile_builds(spec, nodes, Heard())}
    assert again == made
    assert len(nodes.nodes["a"].compiled) == 1, "nothing is compiled twice"


@full
@needs_compiler
def test_what_is_cached_here_is_asked_of_nobody(
    spec: Spec, nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = compile_builds(spec, nodes, Heard())
    monkeypatch.setenv("CC", "gcc")
    assert compile_builds(spec, nodes, Heard()) == first
    assert nodes.asked == 1


@needs_compiler
def test_what_a_lost_node_had_is_compiled_by_another(spec: Spec, nodes: Nodes) -> None:
    nodes.nodes["a"].dies = True
    view = Heard()
    assert len(compile_builds(spec, nodes, view)) == 2
    assert sorted(nodes.nodes["b"].compiled) == sorted([OLD, NEW])
    assert view.warnings == [f"a is lost while it compiles {OLD}: its node has ended"]
    nodes.nodes["b"].dies = True
    shutil.rmtree(nodes.nodes["head"].cache)
    with pytest.raises(SlowdustError, match="no node is left that can compile"):
        compile_builds(spec, nodes, Heard())


@full
@needs_compiler
def test_what_waits_for_a_node_that_measures_goes_to_an_idle_one(spec: Spec, nodes: Nodes) -> None:
    nodes.nodes["a"].measures = True
    compile_builds(spec, nodes, Heard())
    assert sorted(nodes.nodes["b"].compiled) == sorted([OLD, NEW])
    assert nodes.cancelled == ["a"]


@needs_compiler
def test_ctrl_c_ends_what_nodes_compile(spec: Spec, nodes: Nodes) -> None:
    nodes.interrupted = True
    with pytest.raises(KeyboardInterrupt):
        compile_builds(spec, nodes, Heard())
    assert sorted(nodes.cancelled) == ["a", "b"]


@needs_compiler
def test_a_failure_is_told_with_its_node_and_others_are_kept(
    spec: Spec, nodes: Nodes, open_dir: Path
) -> None:
    both = spec_of(open_dir / "repository", BROKEN, OLD)
    with pytest.raises(
        SlowdustError, match=f"{BROKEN} cannot be compiled on a: .* error: "
    ) as told:
        compile_builds(both, nodes, Heard())
    assert "\n" not in str(told.value)
    assert told.value.exit_code == 1
    kept = compile_builds(spec_of(open_dir / "repository", OLD), nodes, Heard())
    assert [each.name for each in kept] == [OLD]
    assert nodes.nodes["b"].compiled == [OLD]


def test_nobody_who_can_compile_is_told_by_what_is_missing(spec: Spec, nodes: Nodes) -> None:
    for node in nodes.nodes.values():
        node.compiler = "no-compiler"
    with pytest.raises(SlowdustError, match=r"can compile .*; b: .* no-compiler, not installed"):
        compile_builds(spec, nodes, Heard())


def can(compiler: str, *names: str, slowdust: str = __version__) -> Able:
    lacks = {name: "it lacks bison" for name in (OLD, NEW) if name not in names}
    return Able(slowdust=slowdust, compilers=dict.fromkeys(names, compiler), lacks=lacks)


def assignment(name: str) -> OfRevision:
    version = name.partition("@")[2]
    return OfRevision(
        dbms="postgres",
        version=version,
        flags=None,
        place="/src",
        content="0",
        ref=None,
        commit=None,
        subject=None,
    )


BOTH = {name: assignment(name) for name in (OLD, NEW)}


@pytest.mark.parametrize(
    ("answers", "compiler"),
    [
        ({"head": can("gcc 9", *BOTH), "a": can(GCC, *BOTH), "b": can(GCC, *BOTH)}, "gcc 9"),
        ({"head": can("gcc 9"), "a": can(GCC, *BOTH), "b": can(GCC, *BOTH)}, GCC),
        ({"head": can("gcc 9", OLD), "a": can("gcc 9", NEW), "b": can(GCC, *BOTH)}, "gcc 9"),
        ({"head": can("gcc 9", OLD), "a": can(GCC, *BOTH)}, GCC),
        ({"a": can("gcc 9", *BOTH), "b": can(GCC, *BOTH), "c": can(GCC, *BOTH)}, GCC),
        ({"a": can("gcc 9", *BOTH, slowdust="0"), "b": can(GCC, *BOTH)}, GCC),
        ({"a": Lost(reason="gone"), "b": can(GCC, *BOTH)}, GCC),
    ],
)
def test_all_builds_are_of_one_compiler(answers: Mapping[str, Able | Lost], compiler: str) -> None:
    chosen = nodes_that_can(BOTH, answers, "head")
    assert {each.compiler for each in chosen.values()} == {compiler}
    for name, each in chosen.items():
        told = [answers[node] for node in each.names]
        assert told
        assert all(isinstance(a, Able) and a.compilers[name] == compiler for a in told)


def test_builds_that_only_different_compilers_make_are_refused() -> None:
    answers = {"a": can("gcc 9", OLD), "b": can(GCC, NEW), "c": can(GCC, *BOTH, slowdust="0")}
    with pytest.raises(SlowdustError, match="a: it lacks bison; b: it lacks bison; c has Slowdust"):
        nodes_that_can(BOTH, answers, "head")


def test_the_last_error_of_a_compilation_is_told() -> None:
    text = (
        "compiling failed: make ended with code 2\nThe log is /x; its last lines:\n"
        "    a.c:7: error: expected ';'\n    make: *** [a.o] Error 1\n    make: leaving\n"
    )
    assert workshop.last_error(text) == (
        "compiling failed: make ended with code 2: a.c:7: error: expected ';'"
    )
    assert workshop.last_error("cannot get it: cc is not installed\n") == (
        "cannot get it: cc is not installed"
    )
    assert workshop.last_error("it failed\nmake: *** Error 1\nmake: leaving") == (
        "it failed: make: *** Error 1"
    )
    assert workshop.last_error("") == "it ended without a word"
