"""Exact evidence: the differences that it finds, and the one that leads the reason."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.evidence import add_evidence, leading
from slowdust.analysis.explanation.parts import add_explanations
from slowdust.analysis.model import Result, Work
from slowdust.analysis.stored import analyse
from slowdust.analysis.story.reasons import add_reasons
from slowdust.ratios import Ratio, instructions
from slowdust.store.manifest import Executed, Manifest, Plan
from slowdust.store.preparation import ServerCounters
from tests.tiers.selection import full
from tests.unit.ratios import value_of
from tests.unit.synthetic_counts import CountNoise, synthetic_counts
from tests.unit.synthetic_parts import BASE, OTHER, TEST, Spent, parts_experiment
from tests.unit.synthetic_waits import synthetic_waits

TIMES = (1.2, 1.5, 28.0, 1500.0)
"""Time per operation / the base's of the injected changes."""


def counted(manifest: Manifest, name: str, base: float, other: float) -> None:
    """Set a quantity that both servers counted per operation."""
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
        ratio=Ratio(ratio, ratio * 0.999, ratio * 1.001, "same" if ratio == 1 else "more"),
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


def test_a_few_where_there_were_none_do_not_explain_a_large_change() -> None:
    manifest = an_experiment()
    executed(manifest, rows_filtered=2.0)

    (rows,) = result_of(manifest, slower(28.0)).evidence

    assert (rows.kind, rows.ratio) == ("rows", None)
    assert rows.explains == pytest.approx(np.log(2.0) / np.log(28.0), abs=0.05)


@pytest.mark.parametrize(("times", "planning"), [(4.0, 4e-5), (28.0, 1e-4)], ids=str)
def test_planning_that_is_a_small_part_of_the_change_explains_no_more(
    times: float, planning: float
) -> None:
    """An operation of 100 µs takes 300 or 2,700 more; 30 or 90 of them are planning."""
    manifest = an_experiment()
    executed(manifest, planning_s=planning)

    (evidence,) = result_of(manifest, slower(times)).evidence

    assert evidence.kind == "planning"
    assert evidence.explains == pytest.approx(0.1, abs=0.08)


def test_a_few_microseconds_of_planning_are_no_evidence() -> None:
    manifest = an_experiment()
    executed(manifest, planning_s=1.9e-5)

    assert result_of(manifest, slower(1.1)).evidence == []


def with_settings(own: dict[str, str], base: dict[str, str], *, times: float = 1.5) -> Manifest:
    """Give the contenders settings and two builds, and make one slower in CPU time."""
    manifest, _ = parts_experiment({BASE: Spent(), OTHER: slower(times)}, blocks=6)
    for contender, settings in zip(manifest.contenders, (base, own), strict=True):
        contender.settings = settings
    return manifest


def of_slower(manifest: Manifest) -> Result:
    _, slices = parts_experiment({BASE: Spent(), OTHER: slower(1.5)}, blocks=6)
    return analyse(manifest, slices).results[1]


def test_settings_lead_where_nothing_else_that_is_exact_does(snapshot: SnapshotAssertion) -> None:
    own = {"work_mem": "64kB", "jit": "on", "fsync": "off", "wal_level": "logical"}
    manifest = with_settings(own, {"jit": "off", "wal_level": "logical"})

    result = of_slower(manifest)

    assert {each.kind for each in leading(result.evidence)} == {"settings"}
    assert words_of(result) == snapshot


def test_settings_are_no_evidence_next_to_what_explains_the_change() -> None:
    manifest = with_settings({"work_mem": "64kB"}, {"work_mem": "4MB"})
    counted(manifest, "rows_fetched", 10.0, 15.0)

    result = of_slower(manifest)

    assert [each.kind for each in result.evidence] == ["rows"]
    assert "work_mem" not in words_of(result)


def test_a_setting_that_a_version_does_not_know_is_no_difference() -> None:
    manifest = with_settings({"io_method": "worker"}, {})
    manifest.contenders[0].skipped_settings = ["io_method"]

    assert of_slower(manifest).evidence == []


def test_settings_are_compared_as_they_are_in_force() -> None:
    manifest = with_settings({"work_mem": "4MB", "jit": "on"}, {"work_mem": "4096kB", "jit": "on"})
    for contender, jit in zip(manifest.contenders, ("on", "off"), strict=True):
        contender.settings_in_force = {"work_mem": "4MB", "jit": jit}

    (setting,) = of_slower(manifest).evidence

    assert re.match(r"jit = off \(.*\bon\b", setting.words)


def test_requests_of_pages_are_pages() -> None:
    manifest = an_experiment()
    executed(manifest)
    for plan, most in zip(manifest.plans, (1000.0, 28_000.0), strict=True):
        assert plan.executed is not None
        plan.executed.amounts = {"pages_at_most": most}

    (pages,) = result_of(manifest, slower(28.0)).evidence

    assert (pages.kind, pages.base, pages.contender) == ("pages", 100.0, 2800.0)


def test_another_plan_that_reads_less_is_reported_as_that(snapshot: SnapshotAssertion) -> None:
    manifest = an_experiment()
    executed(manifest, BY_INDEX, rows_read=1.0, pages_hit=3.0)

    result = result_of(manifest, slower(2.0))

    assert [each.kind for each in leading(result.evidence)] == ["plan"]
    assert words_of(result) == snapshot


def test_planning_that_takes_the_time_comes_before_another_plan() -> None:
    manifest = an_experiment()
    executed(manifest, BY_INDEX, planning_s=1.5e-3)

    result = result_of(manifest, slower(16.0))

    assert [each.kind for each in leading(result.evidence)] == ["planning"]
    assert result.has_other_plan
    assert "became" not in words_of(result)


def test_of_amounts_that_explain_a_change_the_nearest_leads() -> None:
    manifest = an_experiment()
    counted(manifest, "index_blocks", 100.0, 112.0)

    result = result_of(manifest, Spent(user=70.0), instructions=1.4)

    assert [each.kind for each in leading(result.evidence)] == ["instructions", "pages"]


def test_an_amount_that_grew_more_than_the_time_comes_before_what_follows_from_it() -> None:
    manifest = an_experiment()
    executed(manifest, rows_read=10_000.0)

    result = result_of(manifest, Spent(user=2750.0), instructions=55.0)

    assert [each.kind for each in leading(result.evidence)] == ["rows", "instructions"]


@pytest.mark.parametrize(
    ("times", "incarnations", "blocks"),
    [(1.005, 8, 60), (1.01, 6, 60), (3.0, 3, 6), (100.0, 3, 6), (10_000.0, 3, 6)],
)
def test_instructions_lead_at_all_sizes(times: float, incarnations: int, blocks: int) -> None:
    """Half a percent counts as the same work, and explains half a percent of the time."""
    base = Spent(user=96.0, system=1.0, client=2.0, waiting=1.0)
    user = base.user + 100.0 * (times - 1)
    made, slices = parts_experiment(
        {BASE: base, OTHER: replace(base, user=user)}, incarnations=incarnations, blocks=blocks
    )
    made.method.margin = 0.001
    quiet = CountNoise(repeat=0.0002, common=0.0002, restart=0.0002)
    shifts = {OTHER: user / base.user}
    counts = synthetic_counts([BASE, OTHER], [TEST], shifts=shifts, noise=quiet, incarnations=3)

    result = analyse(made, slices, counts=counts).results[1]

    assert result.verdict == "slower"
    assert result.work is not None
    assert result.work.verdict == ("same" if times < 1.01 else "more")
    assert [each.kind for each in leading(result.evidence)] == ["instructions"]
    assert words_of(result).startswith(instructions(value_of(result.work.ratio)))


def test_named_waits_follow_another_plan_without_amounts() -> None:
    made, slices = parts_experiment({BASE: Spent(), OTHER: Spent(waiting=2725.0)}, blocks=6)
    executed(made, BY_INDEX, rows_read=10.0)
    times = {BASE: {"Lock/tuple": 1.0}, OTHER: {"Lock/tuple": 2700.0}}

    _, result = analyse(made, slices, waits=synthetic_waits(times, test=TEST, clients=1)).results

    assert words_of(result).startswith("sbtest1: sequential scan became an index scan on k_1")
    assert words_of(result).endswith("(Lock/tuple)")


SCAN = "Seq Scan on sbtest1\n  Filter: (k = 5)"
BY_INDEX = "Index Scan using k_1 on sbtest1\n  Index Cond: (k = 5)"
UNTOUCHED = {
    **{"rows_read": 100.0, "pages_hit": 20.0, "pages_read": 0.0},
    **{"temp_pages_read": 0.0, "temp_pages_written": 0.0},
    **{"planning_s": 1e-5, "execution_s": 9e-5, "rows_filtered": 0.0},
}
"""Amounts of an operation on the base."""


def executed(manifest: Manifest, plan: str = SCAN, **grown: float) -> None:
    """Give both servers a plan and ten executed operations; increase some of their amounts."""
    manifest.plans = [
        Plan(
            test=TEST,
            contender=contender,
            statement="SELECT c FROM sbtest1 WHERE k = ?",
            plan=text,
            executed=Executed(
                operations=10,
                executions=10,
                amounts={name: each * 10 for name, each in amounts.items()},
            ),
        )
        for contender, text, amounts in (
            (BASE, SCAN, UNTOUCHED),
            (OTHER, plan, UNTOUCHED | grown),
        )
    ]


def injected_into(manifest: Manifest, kind: str, times: float) -> None:
    """Make the contender differ in one kind of evidence, by as much as it is slower."""
    match kind:
        case "another index":
            executed(manifest, BY_INDEX, rows_read=100.0 * times, pages_hit=20.0 * times)
        case "wider scan":
            executed(manifest, rows_read=100.0 * times)
        case "more pages":
            executed(manifest, pages_hit=20.0 * times)
        case "spill":
            executed(manifest, temp_pages_written=50.0 * times, temp_pages_read=50.0 * times)
        case "slower planning":
            executed(manifest, planning_s=1e-4 * times - 9e-5)
        case _:
            executed(manifest)


LEADS = {
    "another index": "plan",
    "wider scan": "rows",
    "more pages": "pages",
    "spill": "pages",
    "slower planning": "planning",
    "more instructions": "instructions",
    "fsync": "IO/WalSync",
    "lock": "Lock/tuple",
}
"""Injected difference -> the kind of evidence, or the event, that leads the reason."""


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(x, marks=full) for x in range(5, 25))])
@pytest.mark.parametrize("injected", LEADS)
def test_the_injected_reason_leads(injected: str, seed: int) -> None:
    """Each alone, in 200 experiments of various sizes."""
    random = np.random.default_rng([seed, len(injected)])
    times = float(np.exp(random.uniform(np.log(1.25), np.log(1000.0))))
    manifest = an_experiment()
    counted(manifest, "rows_fetched", 20.0, 20.0 * random.normal(1.0, 0.001))
    injected_into(manifest, injected, times)
    if injected in ("fsync", "lock"):
        event = LEADS[injected]
        us = 100.0 * (times - 1)
        made, slices = parts_experiment(
            {BASE: Spent(), OTHER: Spent(waiting=25.0 + us)}, blocks=6, seed=seed
        )
        made.counters, made.plans = manifest.counters, manifest.plans
        windows = synthetic_waits({BASE: {event: 1.0}, OTHER: {event: us}}, test=TEST, clients=1)
        _, result = analyse(made, slices, waits=windows).results
        assert not leading(result.evidence)
        assert event in words_of(result)
        return
    more = injected == "more instructions"
    spent = Spent(user=50.0 + 100.0 * (times - 1)) if more else slower(times)

    result = result_of(manifest, spent, seed=seed, instructions=times if more else 1.0)

    assert leading(result.evidence)[0].kind == LEADS[injected], result.evidence
    assert "proves no cause" not in words_of(result)
    assert " waits " not in words_of(result)
