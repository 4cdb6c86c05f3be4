"""Exact evidence: which differences it has, and which of them leads the reason."""

from __future__ import annotations

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.analyse import analyse
from slowdust.analysis.explanation.evidence import add_evidence, leading
from slowdust.analysis.explanation.parts import add_explanations
from slowdust.analysis.model import Evidence, Result, Work
from slowdust.analysis.story.reasons import add_reasons
from slowdust.store.manifest import Manifest
from slowdust.store.preparation import ServerCounters
from tests.unit.synthetic_parts import BASE, OTHER, TEST, Spent, parts_experiment
from tests.unit.synthetic_waits import synthetic_waits

TIMES = (1.05, 1.5, 28.0, 1500.0)
"""Time per operation / the base's of the injected changes."""


def counted(manifest: Manifest, name: str, base: float, other: float) -> None:
    """Let both servers have counted a quantity per operation."""
    manifest.counters += [
        ServerCounters(
            step=f"{TEST}@{clients}",
            contender=contender,
            incarnation=incarnation,
            operations=5000,
            amounts={name: each * 5000},
        )
        for contender, each in ((BASE, base), (OTHER, other))
        for incarnation in (1, 2)
        for clients in manifest.clients
    ]


def work(ratio: float) -> Work:
    return Work(
        source="valgrind",
        clients=1,
        instructions=1e5 * ratio,
        ratio=ratio,
        low=ratio * 0.999,
        high=ratio * 1.001,
        verdict="same" if ratio == 1 else "more",
        repeats=6,
        incarnations=3,
    )


def slower(times: float) -> Spent:
    """The time per operation that grew in CPU and waiting alike, as other load makes it look."""
    return Spent(user=50.0 + 50.0 * (times - 1), waiting=25.0 + 50.0 * (times - 1))


def result_of(
    manifest: Manifest, spent: Spent, *, seed: int = 1, instructions: float | None = None
) -> Result:
    other = parts_experiment({BASE: Spent(), OTHER: spent}, blocks=6, seed=seed)
    made, slices = other
    made.counters, made.plans = manifest.counters, manifest.plans
    report = analyse(made, slices)
    base, result = report.results
    if instructions is not None:
        base.work, result.work = work(1.0), work(instructions)
        add_explanations(report.results, slices, report.contenders)
        add_evidence(report.results, made, report.contenders)
        add_reasons(report.results, report.base, ())
    return result


def an_experiment() -> Manifest:
    manifest, _ = parts_experiment({BASE: Spent(), OTHER: Spent()}, blocks=1)
    return manifest


def words_of(result: Result) -> str:
    assert result.explanation is not None
    return result.explanation.words


@pytest.mark.parametrize("times", TIMES)
def test_rows_that_grew_as_the_time_are_the_reason(times: float) -> None:
    manifest = an_experiment()
    counted(manifest, "rows_fetched", 10.0, 10.0 * times)

    result = result_of(manifest, slower(times))

    (rows,) = leading(result.evidence)
    assert (rows.kind, rows.base) == ("rows", 10.0)
    assert rows.contender == pytest.approx(10.0 * times)
    assert rows.explains == pytest.approx(1.0, abs=0.1)
    assert "proves no cause" not in words_of(result)


def test_the_reason_has_both_numbers(snapshot: SnapshotAssertion) -> None:
    manifest = an_experiment()
    counted(manifest, "row_reads", 2.1, 99_634.0)

    assert words_of(result_of(manifest, slower(1500.0))) == snapshot


def test_an_amount_that_moved_far_more_than_the_time_follows_one_that_moved_as_much() -> None:
    manifest = an_experiment()
    counted(manifest, "index_blocks", 10.0, 1000.0)

    result = result_of(manifest, Spent(user=75.0), instructions=1.5)

    assert [each.kind for each in leading(result.evidence)] == ["instructions", "pages"]


@pytest.mark.parametrize(("base", "other"), [(100.0, 2.0), (100.0, 100.5), (0.0, 0.04)])
def test_an_amount_that_shrank_or_hardly_moved_explains_nothing(base: float, other: float) -> None:
    manifest = an_experiment()
    counted(manifest, "index_blocks", base, other)

    result = result_of(manifest, slower(2.0))

    assert not leading(result.evidence)
    assert all(each.explains == 0 for each in result.evidence)


def test_an_amount_of_which_the_base_has_none_may_explain_all() -> None:
    manifest = an_experiment()
    counted(manifest, "heap_blocks", 0.0, 500.0)

    (pages,) = result_of(manifest, slower(2.0)).evidence

    assert (pages.kind, pages.ratio, pages.explains) == ("pages", None, 1.0)


def test_settings_of_one_build_are_evidence_and_those_of_two_are_not() -> None:
    manifest, slices = parts_experiment({BASE: Spent(), OTHER: Spent()}, blocks=2)
    manifest.contenders[1].settings["work_mem"] = "64kB"
    assert analyse(manifest, slices).results[1].evidence == []

    manifest.contenders[1].build = manifest.contenders[0].build

    (setting,) = analyse(manifest, slices).results[1].evidence
    assert setting == Evidence(kind="settings", words="work_mem = 64kB, not set in the base")


@pytest.mark.parametrize("seed", range(50))
@pytest.mark.parametrize("injected", ["rows", "pages", "instructions", "io", "lock"])
def test_the_injected_reason_leads(injected: str, seed: int) -> None:
    """Each alone, in 250 experiments of various sizes whose other amounts are equal."""
    random = np.random.default_rng([seed, len(injected)])
    times = float(np.exp(random.uniform(np.log(1.1), np.log(1000.0))))
    manifest = an_experiment()
    for kind, name in (("rows", "rows_fetched"), ("pages", "index_blocks")):
        grown = 20.0 * times if kind == injected else 20.0 * random.normal(1.0, 0.001)
        counted(manifest, name, 20.0, grown)
    if injected in ("io", "lock"):
        event = {"io": "IO/WalSync", "lock": "Lock/tuple"}[injected]
        us = 100.0 * (times - 1)
        made, slices = parts_experiment(
            {BASE: Spent(), OTHER: Spent(waiting=25.0 + us)}, blocks=6, seed=seed
        )
        made.counters = manifest.counters
        windows = synthetic_waits({BASE: {event: 1.0}, OTHER: {event: us}}, test=TEST, clients=1)
        _, result = analyse(made, slices, waits=windows).results
        assert not leading(result.evidence)
        assert event in words_of(result)
        return
    ratio = times if injected == "instructions" else 1.0
    spent = Spent(user=50.0 + 100.0 * (times - 1)) if injected == "instructions" else slower(times)

    result = result_of(manifest, spent, seed=seed, instructions=ratio)

    assert leading(result.evidence)[0].kind == injected
