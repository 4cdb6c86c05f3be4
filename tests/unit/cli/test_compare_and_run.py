"""`slowdust compare` and `slowdust run`: their specification and their exit.

Nothing is measured: in place of `run_experiment` there is a function that keeps what it is given
and returns an experiment that was measured before.
"""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.errors import SlowdustError, UsageError
from slowdust.experiment import local_lab
from slowdust.experiment.announced import Announced
from slowdust.experiment.host_locks import WhenBusy
from slowdust.experiment.journal import StartMode
from slowdust.experiment.run_estimate import RunEstimate
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View
from slowdust.store.folder import Folder
from tests.unit.cli.command import Slowdust, spoken

OLD, NEW = "postgres@15.8", "postgres@17.6"


@dataclasses.dataclass
class Runs:
    """The runs that were asked for, and what becomes of them."""

    experiment: Path
    calls: list[tuple[dict[str, Any], Path, StartMode]] = dataclasses.field(default_factory=list)
    when_busy: list[WhenBusy] = dataclasses.field(default_factory=list)
    announced: list[Announced] = dataclasses.field(default_factory=list)
    failure: Callable[[Path], BaseException] | None = None

    def run_experiment(
        self,
        spec: Spec,
        results: Path,
        mode: StartMode,
        view: View,
        when_busy: WhenBusy,
        *,
        announced: Announced,
        decide: object = None,
    ) -> Folder:
        """Keep the arguments; end as the test wants it."""
        del view, decide
        self.announced.append(announced)
        self.when_busy.append(when_busy)
        self.calls.append((tomllib.loads(spec.to_toml()), results, mode))
        if self.failure is not None:
            raise self.failure(results / spec.name)
        folder = Folder.of(results, spec.name)
        if not folder.has_manifest():
            shutil.copytree(self.experiment, folder.path, dirs_exist_ok=True)
        return folder

    @property
    def spec(self) -> dict[str, Any]:
        """The specification of the only run, as its file would have it."""
        [(spec, _, _)] = self.calls
        return spec


@pytest.fixture
def runs(results: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Runs that all end with the results of micro."""
    runs = Runs(results / "micro")
    monkeypatch.setattr(local_lab, "run_experiment", runs.run_experiment)
    return runs


def test_compare_makes_an_experiment_of_its_options(slowdust: Slowdust, runs: Runs) -> None:
    outcome = slowdust(
        *("compare", OLD, NEW, "--tests", "point-query, scan", "--clients", "8,1"),
        *("--rows", "5000", "--tables", "2", "--budget", "5m", "--slice", "50ms"),
        *("--incarnations", "3", "--margin", "5%", "--rate", "100", "--arrivals", "uniform"),
        *("--seed", "7", "--name", "mine", "--set", "fsync=off"),
        *("--set", "work_mem=4MB", "--set", "work_mem=8MB"),
    )
    assert outcome.code == 0
    spec = runs.spec
    assert [contender["contender"] for contender in spec.pop("contenders")] == [OLD, NEW]
    assert spec == {
        "name": "mine",
        "benchmark": "micro",
        "suite": "default",
        "tests": ["point-query", "scan"],
        "clients": [1, 8],
        "rows": 5000,
        "tables": 2,
        "budget": "300.000000s",
        "slice": "0.050000s",
        "discard": "0.010000s",
        "warmup": "0.500000s",
        "incarnations": 3,
        "margin": 0.05,
        "rate": {"per_second": 100.0, "arrivals": "uniform"},
        "count": "auto",
        "simulate": False,
        "keep": False,
        "profile": False,
        "waits": False,
        "seed": 7,
        "set": {"fsync": "off"},
        "matrix": {"work_mem": ["4MB", "8MB"]},
    }


def test_compare_of_the_insert_benchmark(slowdust: Slowdust, runs: Runs) -> None:
    outcome = slowdust(
        *("compare", NEW, "--benchmark", "insert", "--workload", "cached", "--seconds", "10m"),
        *("--rows", "1000,200,100", "--rates", "100,500", "--rows-per-commit", "100,50,5,50"),
        *("--shared-table", "--partitions", "4", "--statements", "text", "--clients", "2"),
        *("--hold", "0,30s"),
    )
    assert outcome.code == 0
    assert runs.spec["benchmark"] == "insert"
    assert runs.spec["insert"] == {
        "workload": "cached",
        "seconds": "600.000000s",
        "rows": [1000, 200, 100],
        "rates": [100, 500],
        "rows_per_commit": [100, 50, 5, 50],
        "table": "shared",
        "partitions": 4,
        "statements": "text",
        "turns": "chunks",
        "hold": [0.0, 30.0],
    }


def test_compare_begins_afresh_under_a_name_made_from_contenders_and_time(
    slowdust: Slowdust, runs: Runs, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("compare", OLD, NEW, "--results", "elsewhere")
    [(spec, results, mode)] = runs.calls
    assert re.fullmatch(r"postgres-15\.8-vs-postgres-17\.6-\d{8}-\d{6}", spec["name"])
    assert (results, mode) == (Path("elsewhere"), StartMode.FRESH)
    assert outcome.err.splitlines()[0].replace(spec["name"], "NAME") == snapshot


def test_it_ends_with_the_tldr_and_a_page(slowdust: Slowdust, runs: Runs) -> None:
    outcome = slowdust("compare", OLD, NEW, "--name", "mine")
    page = Path("results/mine/report.html")
    assert page.is_file()
    assert outcome.err.splitlines()[-1] == f"report: {page}"
    [*tldr, _] = slowdust("report", "mine").out.splitlines()
    assert outcome.out.splitlines() == tldr


@pytest.mark.parametrize("failed", ["contender", "step"])
def test_a_contender_that_dropped_out_or_a_failed_step_is_a_failure(
    slowdust: Slowdust, runs: Runs, failed: str
) -> None:
    path = runs.experiment / "manifest.json"
    manifest = json.loads(path.read_bytes())
    if failed == "contender":
        manifest["contenders"][2]["failed"] = "the server ended"
    else:
        manifest["failed_steps"] = [
            {"test": "scan", "clients": 1, "contender": NEW, "incarnation": 1}
            | {"reason": "the disk is full", "after_s": 1.0}
        ]
    path.write_text(json.dumps(manifest))
    outcome = slowdust("compare", OLD, NEW)
    assert outcome.code == 1
    assert outcome.out, "what was measured is told all the same"


def keep_a_slice(folder: Path) -> KeyboardInterrupt:
    """Store one measured slice, as a stopped experiment does."""
    folder.mkdir()
    (folder / "slices.ndjson").write_text("{}\n")
    return KeyboardInterrupt()


def test_a_stopped_experiment_says_how_to_resume(
    slowdust: Slowdust, runs: Runs, snapshot: SnapshotAssertion
) -> None:
    runs.failure = keep_a_slice
    outcome = slowdust("compare", NEW, "--name", "stopped")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.splitlines() == snapshot
    assert outcome.complaint == "slowdust: stopped"


@pytest.mark.parametrize(
    ("error", "code"), [(UsageError("no such config"), 2), (SlowdustError("no server"), 1)]
)
def test_an_experiment_without_a_slice_cannot_be_resumed(
    slowdust: Slowdust, runs: Runs, error: SlowdustError, code: int
) -> None:
    runs.failure = lambda _: error
    outcome = slowdust("compare", NEW, "--name", "stopped")
    assert outcome.code == code
    assert "--resume" not in outcome.err
    assert outcome.complaint == f"slowdust: {error}"


def test_one_contender_without_several_values_is_not_compared(
    slowdust: Slowdust, runs: Runs, snapshot: SnapshotAssertion
) -> None:
    alone, both = (
        slowdust("compare", NEW, *settings).err.splitlines()[1:-1]
        for settings in ([], ["--set", "fsync=on", "--set", "fsync=off"])
    )
    assert len(runs.calls) == 2
    assert [line for line in alone if line not in both] == snapshot


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--clients", "one"], "--clients"),
        (["--clients", "1,1"], "--clients"),
        (["--margin", "banana"], "--margin"),
        (["--rows", "5"], "--rows"),
        (["--rows", "many"], "--rows"),
        (["--rows", "1,2"], "--rows"),
        (["--tests", ","], "--tests"),
        (["--tests", "scan", "--suite", "quick"], "--tests"),
        (
            ["--suite", "nope"],
            "--suite",
        ),
        (["--benchmark", "tpcc"], "--benchmark"),
        (["--arrivals", "poisson"], "--arrivals"),
        (["--name", "a/b"], "--name"),
        (["--slice", "5x"], "--slice"),
        (["--workload", "cached"], "--workload"),
        (["--shared-table"], "--shared-table"),
        (
            ["--benchmark", "insert", "--tables", "2"],
            "--tables",
        ),
        (
            ["--benchmark", "insert", "--workload", "nope"],
            "'nope'",
        ),
        (["--benchmark", "insert", "--rates", "100,fast"], "'fast'"),
        (
            ["--benchmark", "insert", "--rows-per-commit", "1,2"],
            "2",
        ),
    ],
    ids=spoken,
)
def test_options_that_mean_nothing_are_wrong_use(
    slowdust: Slowdust, runs: Runs, options: list[str], named: str, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("compare", OLD, NEW, *options)
    assert (outcome.code, outcome.out, runs.calls) == (2, "", [])
    assert named in outcome.complaint
    assert outcome.complaint == snapshot


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--rate", "5", "--arrivals", "often"], "there is no value 'often'"),
        (["--statements", "cached"], "'cached' is not one of 'prepared', 'text'"),
        (["--tables", "x"], "'x' is not a whole number"),
        (["--seed", "x"], "'x' is not a whole number"),
        (["--rate", "x"], "'x' is not a number"),
    ],
)
def test_values_of_another_kind_are_wrong_use(
    slowdust: Slowdust, runs: Runs, options: list[str], complaint: str, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("compare", NEW, *options)
    assert (outcome.code, outcome.out, runs.calls) == (2, "", [])
    assert outcome.err == snapshot


@pytest.mark.parametrize(
    ("command", "argument"), [("compare", "BASE [CONTENDER]..."), ("run", "FILE")]
)
def test_tests_of_contenders_are_required(slowdust: Slowdust, command: str, argument: str) -> None:
    outcome = slowdust(command)
    assert outcome.code == 2
    assert f"Missing argument '{argument}'" in outcome.err


def test_run_reads_the_experiment_from_its_file(slowdust: Slowdust, runs: Runs) -> None:
    Path("nightly.toml").write_text(
        f'contenders = ["{OLD}", "{NEW}"]\ntests = ["scan"]\n', encoding="utf-8"
    )
    outcome = slowdust("run", "nightly.toml")
    assert outcome.code == 0
    [(spec, results, mode)] = runs.calls
    assert (spec["name"], spec["tests"]) == ("nightly", ["scan"])
    assert (results, mode) == (Path("results"), StartMode.FRESH)


def test_cpus_are_of_the_experiment_and_waiting_is_of_the_run(
    slowdust: Slowdust, runs: Runs
) -> None:
    assert slowdust("compare", OLD, NEW, "--cpus", "3,0-1", "--no-wait").code == 0
    assert runs.spec["cpus"] == [0, 1, 3]
    assert slowdust("run", "results/micro/experiment.toml", "--no-wait", "--resume").code == 0
    assert slowdust("compare", OLD, NEW).code == 0
    assert runs.when_busy == [WhenBusy.FAIL, WhenBusy.FAIL, WhenBusy.WAIT]


def test_resume_continues_where_the_file_is(slowdust: Slowdust, runs: Runs, tmp_path: Path) -> None:
    moved = tmp_path / "archive"
    runs.experiment.parent.rename(moved)
    runs.experiment = moved / "micro"
    assert slowdust("run", "archive/micro/experiment.toml", "--resume").code == 0
    [(spec, results, mode)] = runs.calls
    assert (spec["name"], results, mode) == ("micro", moved, StartMode.RESUME)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("x = [", "bad.toml:1:"),
        ("", "bad.toml: contenders"),
        (f'contenders = ["{NEW}"]\ncolour = 3', "bad.toml:2: colour"),
        (f'contenders = ["{NEW}"]\ntests = ["nope"]', "nope"),
    ],
    ids=spoken,
)
def test_run_of_a_wrong_file_is_wrong_use(
    slowdust: Slowdust, runs: Runs, content: str, named: str, snapshot: SnapshotAssertion
) -> None:
    Path("bad.toml").write_text(content, encoding="utf-8")
    outcome = slowdust("run", "bad.toml")
    assert (outcome.code, outcome.out, runs.calls) == (2, "", [])
    assert named in outcome.complaint
    assert outcome.complaint == snapshot


def test_run_of_a_directory_is_wrong_use(
    slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion
) -> None:
    assert slowdust("run", "results").complaint == snapshot


@pytest.mark.parametrize(
    ("terminal", "options", "answer", "asked", "code"),
    [
        (True, [], "n\n", True, 1),
        (True, [], "y\n", True, 0),
        (True, ["--yes"], "", False, 0),
        (False, [], "", False, 0),
    ],
)
def test_a_budget_that_decides_nothing_is_asked_back(
    slowdust: Slowdust,
    runs: Runs,
    monkeypatch: pytest.MonkeyPatch,
    *,
    terminal: bool,
    options: list[str],
    answer: str,
    asked: bool,
    code: int,
    snapshot: SnapshotAssertion,
) -> None:
    short = RunEstimate(60.0, 90.0, 0.2, "2026-11-20", "this budget decides little")
    monkeypatch.setattr("slowdust.cli.conduct.estimate_run", lambda *_: short)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    questions = []

    def confirm(text: str, **_: object) -> None:
        questions.append(text)
        if answer.startswith("n"):
            raise click.Abort

    monkeypatch.setattr(click, "confirm", confirm)

    outcome = slowdust("compare", OLD, NEW, "--name", "short", *options)

    assert outcome.code == code
    assert bool(questions) == asked
    assert len(runs.calls) == (code == 0)
    assert outcome.err.splitlines()[1:3] == snapshot


def test_compare_resumes_what_has_a_name(
    slowdust: Slowdust, runs: Runs, snapshot: SnapshotAssertion
) -> None:
    slowdust("compare", OLD, NEW, "--name", "mine", "--resume")
    nameless = slowdust("compare", OLD, NEW, "--resume")

    [(spec, _, mode)] = runs.calls
    assert (spec["name"], mode) == ("mine", StartMode.RESUME)
    assert nameless.complaint == snapshot
