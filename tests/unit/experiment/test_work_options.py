"""Options that name the work of an experiment reproduce it when they are typed again."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.analysis import advised
from slowdust.cli.commands import command
from slowdust.commands import command_line
from slowdust.experiment.spec.options import spec_from_options, work_options
from slowdust.experiment.spec.spec import Spec, parse_spec
from slowdust.store.manifest import WorkloadFacts
from tests.unit.synthetic import synthetic_experiment

CONTENDERS = ["postgres@15.8", "postgres@17.6"]
SHOP = Path(__file__).parents[3] / "examples" / "workloads" / "shop.toml"
OF_THE_WORK = {"tests", "budget", "slice", "incarnations", "margin", "count", "name", "contenders"}


def specified(*arguments: str) -> Spec:
    """The specification that `slowdust compare` makes of these arguments."""
    with command("compare").make_context("compare", [*CONTENDERS, *arguments]) as context:
        options = dict(context.params)
    for name in ("contenders", "resume", "results", "when_busy", "gates", "too_short"):
        options.pop(name)
    return spec_from_options(CONTENDERS, options)


def typed(spec: Spec) -> list[str]:
    """The arguments that its options are, as a shell would pass them."""
    options = work_options(spec)
    assert options is not None
    _, *words = command_line([], options).split(" ")
    return [word.strip("'") for word in words]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--rows", "20k", "--tables", "4", "--clients", "1,8", "--seed", "7"),
        ("--set", "work_mem=4MB", "--set", "jit=on"),
        ("--rate", "200", "--arrivals", "uniform", "--cpus", "0-1"),
        ("--pool", "64MB",),
        ("--memory", "512MB"),
        ("--benchmark", "slap", "--rows", "5000"),
        ("--benchmark", "io", "--pool", "64MB", "--rows", "300k"),
        ("--benchmark", "insert", "--rows", "5000,1000,1000", "--rates", "10,20", "--shared-table",
         "--partitions", "2", "--hold", "0,60s", "--statements", "text", "--seconds", "30s"),
        ("--benchmark", "htap", "--rate", "300", "--warehouses", "3", "--grid", "1x2",
         "--hold", "5s"),
        ("--benchmark", "vector", "--k", "5", "--m", "8", "--efforts", "10,20",
         "--rows", "5000"),
    ],
)  # fmt: skip
def test_they_mean_the_same_work(arguments: tuple[str, ...]) -> None:
    spec = specified(*arguments)

    again = specified(*typed(spec))

    assert again.model_dump(exclude=OF_THE_WORK) == spec.model_dump(exclude=OF_THE_WORK)
    if not arguments:
        assert typed(spec) == [], "defaults are not typed"


def test_a_workload_is_the_copy_in_the_folder_of_the_experiment() -> None:
    spec = specified("--workload", str(SHOP), "--clients", "4", "--set", "work_mem=4MB")
    manifest, _ = synthetic_experiment(CONTENDERS, ["customer"])
    manifest.work_options = work_options(spec)
    manifest.workload = WorkloadFacts(name="shop", sha256="", groups={}, rows={})

    for place, copy in (("pg17", "results/pg17"), ("/elsewhere/pg17", "/elsewhere/pg17")):
        command = advised.compare(manifest, place, CONTENDERS, ["customer"], {"waits": True})
        assert command == (
            "slowdust compare postgres@15.8 postgres@17.6 --tests customer "
            f"--workload {copy}/workload.toml --clients 4 --set work_mem=4MB --waits"
        )
    searched = advised.bisect(manifest, "pg17", "postgres@15.8..17.6", "customer", {})
    assert searched == (
        "slowdust bisect postgres@15.8..17.6 --test customer "
        "--workload results/pg17/workload.toml --clients 4 --set work_mem=4MB"
    )


def test_nothing_is_advised_that_would_measure_other_work() -> None:
    manifest, _ = synthetic_experiment(CONTENDERS, ["scan"])

    manifest.work_options = {"tables": "4"}
    assert advised.bisect(manifest, "pg17", "postgres@15.8..17.6", "scan", {}) is None
    assert advised.compare(manifest, "pg17", ["a fsync=off", "a fsync=on"], ["scan"]) is None
    manifest.work_options = None  # as an earlier version left it
    assert advised.compare(manifest, "pg17", CONTENDERS, ["scan"]) is None
    assert advised.bisect(manifest, "pg17", "postgres@15.8..17.6", "scan", {}) is None


@pytest.mark.parametrize(
    "contender",
    [
        {"contender": "postgres@17.6", "name": "nojit"},
        {"contender": "postgres@17.6", "set": {"jit": "off"}},
        "./pg-patched",
    ],
)
def test_contenders_that_a_command_line_cannot_name_are_in_no_command(contender: object) -> None:
    spec = parse_spec({"name": "x", "contenders": ["postgres@15.8", contender]})
    assert work_options(spec) is None
