import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import GroupChanges
from slowdust.analysis.stored import analyse
from slowdust.analysis.story.bands import (
    DEFAULT_BANDS,
    Bands,
    Change,
    changes_after_summary,
    changes_against,
    changes_of_group,
)
from slowdust.ratios import Verdict
from slowdust.wording import distinct_names
from tests.unit.synthetic import synthetic_experiment, synthetic_manifest, synthetic_slice
from tests.unit.synthetic_steps import insert_experiment


def changes(versions: str, *rates: str) -> GroupChanges:
    """Return the changes of point queries t0, t1 ...; rates '1 0.9 -' are by version."""
    names = versions.split()
    by_test = {
        f"t{index}": {
            name: float(rate) for name, rate in zip(names, row.split(), strict=True) if rate != "-"
        }
        for index, row in enumerate(rates)
    }
    changed = changes_of_group("point", None, names, by_test, DEFAULT_BANDS)
    assert changed is not None
    return changed


@pytest.mark.parametrize(
    ("ratio", "change"),
    [
        (1.0, Change.NONE),
        (0.9551, Change.NONE),
        (1.0449, Change.NONE),
        (0.9549, Change.SMALL_REGRESSION),
        (0.95, Change.SMALL_REGRESSION),
        (1.05, Change.SMALL_IMPROVEMENT),
        (0.856, Change.SMALL_REGRESSION),
        (0.85, Change.BIG_REGRESSION),
        (1.15, Change.BIG_IMPROVEMENT),
        (0.01, Change.BIG_REGRESSION),
        (7.5, Change.BIG_IMPROVEMENT),
    ],
)
def test_the_usual_bands_begin_at_the_printed_numbers(ratio: float, change: Change) -> None:
    assert DEFAULT_BANDS.of(ratio) is change


def test_bands_are_parameters() -> None:
    narrow = Bands(change=0.02, big=0.1)

    assert narrow.of(0.97) is Change.SMALL_REGRESSION
    assert narrow.of(0.89) is Change.BIG_REGRESSION
    assert narrow.of(1.01) is Change.NONE


def test_a_step_is_reported_as_in_the_posts(snapshot: SnapshotAssertion) -> None:
    changed = changes("5.6 5.7", *["1 1.3"] * 5, *["1 1.01"] * 2, *["1 0.92"] * 2)

    assert changed.title == snapshot
    assert changed.clauses == snapshot
    (step,) = changed.steps
    assert (step.tests, step.big_improvements, step.no_changes, step.small_regressions) == (
        9,
        5,
        2,
        2,
    )


def test_the_common_result_is_the_median_test_of_the_last_version_against_the_first(
    snapshot: SnapshotAssertion,
) -> None:
    changed = changes("5.6 5.7 8.0", "1 0.9 0.79", "1 0.9 0.80", "1 0.9 0.82", "1 3 0.95")

    assert changed.clauses[-1] == snapshot
    assert changed.overall is not None
    assert changed.overall.median == pytest.approx(0.81)


def test_where_tests_disagree_there_is_no_common_result(snapshot: SnapshotAssertion) -> None:
    changed = changes("5.6 9.5", *["1 0.8"] * 5, *["1 1"] * 3, *["1 1.2"] * 2)

    assert changed.clauses[-1] == snapshot


def test_versions_without_a_change_are_reported_together(snapshot: SnapshotAssertion) -> None:
    changed = changes("5.7 8.0 8.4 9.5", "1 0.7 0.7 0.69", "1 0.7 0.71 0.7")

    assert changed.clauses == snapshot


def test_throughput_is_stable_only_where_every_verdict_is_the_same(
    snapshot: SnapshotAssertion,
) -> None:
    rates = {"t": {"5.7": 1.0, "8.0": 1.01}, "u": {"5.7": 1.0, "8.0": 0.99}}

    def said(*verdicts: Verdict) -> list[str]:
        judged = dict(zip(rates, verdicts, strict=True))
        changed = changes_of_group(
            "point", None, ["5.7", "8.0"], rates, DEFAULT_BANDS, verdicts=lambda _a, _b: judged
        )
        assert changed is not None
        return changed.clauses

    assert said("same", "same") == snapshot
    assert said("same", "faster") == snapshot
    assert said("same", "unsure") == snapshot
    assert said("unsure", "unsure") == snapshot


def test_small_steps_that_add_up_are_not_called_stable(snapshot: SnapshotAssertion) -> None:
    changed = changes("a b c", "1 0.97 0.94", "1 0.97 0.94")

    assert changed.clauses == snapshot


def test_nothing_is_said_twice_where_nothing_changed(snapshot: SnapshotAssertion) -> None:
    assert changes("a b c", "1 1.01 1").clauses == snapshot


def test_a_step_counts_the_tests_that_have_both_versions(snapshot: SnapshotAssertion) -> None:
    changed = changes("a b c", "1 0.5 0.5", "1 - 0.5", "- 1 1")

    assert [step.tests for step in changed.steps] == [1, 2]
    assert changed.clauses[:2] == snapshot


def test_versions_without_a_test_in_common_are_reported(snapshot: SnapshotAssertion) -> None:
    changed = changes("a b c d", "1 0.5 - -", "1 0.5 - -", "- - 1 1")

    assert changed.clauses == snapshot


def test_steps_of_other_tests_are_not_reported_together(snapshot: SnapshotAssertion) -> None:
    changed = changes("a b c", "1 1 1", "1 1 -")

    assert changed.clauses[:2] == snapshot


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        ("1.99", "about 2.0X more throughput than a"),
        ("1.996", "about 2.0X more throughput than a"),
        ("2.13", "about 2.1X more throughput than a"),
        ("0.0051", "about 200X less throughput than a"),
        ("0.0049", "about 200X less throughput than a"),
        ("0.0004", "about 2,500X less throughput than a"),
    ],
)
def test_large_changes_are_reported_as_factors(
    rate: str, words: str, snapshot: SnapshotAssertion
) -> None:
    assert changes("a b", f"1 {rate}").clauses[-1] == snapshot


def test_contenders_that_are_no_versions_are_compared_with_the_first(
    snapshot: SnapshotAssertion,
) -> None:
    rates = {"t": {"glibc": 1.0, "jemalloc": 1.2, "tcmalloc": 1.01}}

    changed = changes_against("point", 8, ["glibc", "jemalloc", "tcmalloc"], rates, DEFAULT_BANDS)

    assert changed is not None
    assert changed.sentence == snapshot


def test_names_are_distinguished_by_what_they_do_not_share() -> None:
    names = ["mysql@8.0.40:z_glibc_c32+o2", "mysql@8.0.40:z_jemalloc_c32+o2"]

    assert list(distinct_names(names).values()) == ["glibc", "jemalloc"]
    assert list(distinct_names(["pg@1", "pg@1+jemalloc"]).values()) == ["1", "1+jemalloc"]


def test_measured_versions_have_their_changes_next_to_the_verdicts(
    snapshot: SnapshotAssertion,
) -> None:
    report = analyse(
        *synthetic_experiment(
            ["mysql@8.0.28", "mysql@5.6.51"],
            ["point-query", "hot-points", "scan"],
            shifts={"mysql@8.0.28": 1.0, "mysql@5.6.51": 1.5},
        )
    )

    titles = [changes.title for changes in report.group_changes]
    assert titles == snapshot
    # In the order of versions, for any base.
    assert report.group_changes[0].clauses[0] == snapshot
    assert changes_after_summary(report) == report.group_changes


def test_holds_are_described_separately(snapshot: SnapshotAssertion) -> None:
    shifts = {"mysql@9.7.4": {"l.i1.hold60": 0.5}}
    report = analyse(
        *insert_experiment(["mysql@5.6.24", "mysql@9.7.4"], ["l.i1", "l.i1.hold60"], shifts=shifts)
    )

    alone, beside = report.group_changes
    assert (alone.hold_s, beside.hold_s) == (None, 60.0)
    assert [alone.title, *alone.clauses, beside.title, *beside.clauses] == snapshot


def test_there_is_no_common_result_where_the_mean_is_on_the_other_side_of_it() -> None:
    rows = ["1 0.9", "1 0.9", "1 0.9", "1 3"]
    changed = changes("5.6 5.7", *rows)
    beside = changes_against(
        "point",
        None,
        ["a", "b"],
        {
            f"t{i}": dict(zip("ab", map(float, row.split()), strict=True))
            for i, row in enumerate(rows)
        },
        DEFAULT_BANDS,
    )

    assert beside is not None
    for clause in (changed.clauses[-1], beside.clauses[-1]):
        assert "3 slower and 1 faster" in clause
        assert clause.endswith(" 1.22")


def test_the_mean_is_of_the_tests_that_all_versions_have(snapshot: SnapshotAssertion) -> None:
    changed = changes("5.6 5.7 8.0", "1 1 0.9", "1 1 0.9", "1 1 0.9", "1 - 3")

    assert changed.clauses[-1] == snapshot


def test_the_tldr_of_single_runs_is_reported_in_bands(snapshot: SnapshotAssertion) -> None:
    names = ["mysql@5.6.51", "mysql@5.7.44", "mysql@8.0.28"]
    slices = [
        synthetic_slice(contender=name, test=test, qps=qps)
        for test in ("point-query", "hot-points")
        for name, qps in zip(names, (1000, 1300, 800), strict=True)
    ]

    report = analyse(synthetic_manifest(names, ["point-query", "hot-points"]), slices)

    assert report.tldr == snapshot
    assert changes_after_summary(report) == []


def test_limits_of_single_runs_come_last(snapshot: SnapshotAssertion) -> None:
    names = ["mysql@5.6.51", "mysql@5.7.44"]
    slices = [synthetic_slice(contender=name, test="point-query") for name in names]
    slices[1].measured.errors = {"40001": 3}

    report = analyse(synthetic_manifest(names, ["point-query"]), slices)

    assert report.answer is not None
    assert report.answer.warnings == snapshot
