from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.metrics import PerOperation
from slowdust.analysis.model import Evidence, Report, Result, Work
from slowdust.analysis.results.per_op import relative_to
from slowdust.analysis.story.answer import limits
from slowdust.analysis.story.changes import changes_of
from slowdust.analysis.story.tldr import describe_contenders
from slowdust.ratios import Amount, Ratio
from slowdust.store.latency import LatencyUs
from slowdust.wording import listing, rough_duration, short_names
from tests.unit.analysis.results import a_result

A, B, C = "postgres@15.8", "postgres@17.6", "postgres@18.4"
ANOTHER_PLAN = Evidence(
    kind="plan", words="sbtest1: index scan on k_1 became a sequential scan", leads=True
)


def describe(results: list[Result], contenders: list[str], failures: dict[str, str]) -> list[str]:
    return describe_contenders(results, short_names(contenders), failures)


def report_of(results: list[Result], *others: str) -> Report:
    return Report(
        experiment="e",
        base=A,
        contenders=[A, *others],
        margin=0.03,
        results=results,
        tldr=[],
        contender_info=[],
    )


def lines(results: list[Result], *others: str) -> list[str]:
    changes = changes_of(report_of(results, *(others or (B,))))
    return [line.text for line in (*changes.slower, *changes.faster, *changes.work)]


OF_BASE = PerOperation(server_cpu_us=50.0, cs=2.0)


def with_base(*results: Result) -> list[Result]:
    keys = dict.fromkeys((r.test, r.group, r.clients) for r in results)
    bases = [a_result(A, test=t, group=g, clients=c, per_op=OF_BASE) for t, g, c in keys]
    return [*bases, *results]


def test_each_changed_test_has_a_line_with_its_reason(snapshot: SnapshotAssertion) -> None:
    cpu = PerOperation(server_cpu_us=55.0)
    relative = relative_to(OF_BASE, cpu)
    results = with_base(
        a_result(B, rqps=0.9, verdict="slower", per_op_relative=relative, per_op=cpu),
        a_result(B, test="hot-points", rqps=1.0, verdict="same"),
        a_result(B, test="scan", group="range", rqps=2.3, verdict="faster"),
        a_result(B, test="insert", group="write", rqps=0.98, verdict="unsure"),
    )

    assert lines(results) == snapshot


def test_the_worst_regressions_come_first() -> None:
    rates = {"hot-points": 0.9, "scan": 0.6, "insert": 0.8, "delete": 0.7, "update-one": 0.5}
    results = with_base(
        *(a_result(B, test=test, rqps=rate, verdict="slower") for test, rate in rates.items())
    )

    labels = [line.partition(":")[0] for line in lines(results)]

    assert labels == ["update-one", "scan", "delete", "insert", "hot-points"]


def test_a_sure_difference_stands_before_a_noisy_larger_one(snapshot: SnapshotAssertion) -> None:
    noisy = a_result(B, test="scan", group="range", rqps=0.8, verdict="slower")
    noisy.ratio = Ratio(0.8, 0.65, 0.99, "slower", 0.03)
    sure = a_result(B, test="hot-points", group="range", rqps=0.92, verdict="slower")
    sure.ratio = Ratio(0.92, 0.91, 0.93, "slower", 0.03)

    assert lines(with_base(noisy, sure)) == snapshot


def test_a_verdict_about_all_time_is_reported_with_its_ratio(snapshot: SnapshotAssertion) -> None:
    stalled = a_result(B, rqps=0.99, verdict="slower")
    stalled.basis = "all time"
    stalled.ratio = stalled.all_time = Ratio(0.93, 0.90, 0.96, "slower")

    assert lines(with_base(stalled)) == snapshot


def test_a_verdict_about_all_time_keeps_the_caveat_about_plans(snapshot: SnapshotAssertion) -> None:
    stalled = a_result(B, rqps=0.99, verdict="slower")
    stalled.evidence = [ANOTHER_PLAN]
    stalled.basis = "all time"
    stalled.ratio = stalled.all_time = Ratio(0.93, 0.90, 0.96, "slower")

    assert lines(with_base(stalled)) == snapshot


def test_lines_are_about_tests_where_these_are_no_more_than_contenders(
    snapshot: SnapshotAssertion,
) -> None:
    results = with_base(
        *(
            a_result(name, test=test, rqps=0.8, verdict="slower")
            for name in (B, C)
            for test in ("hot-points", "point-query")
        )
    )

    assert lines(results, B, C) == snapshot


def test_many_contenders_share_the_line_of_a_test(snapshot: SnapshotAssertion) -> None:
    names = [f"{A} n={number}" for number in range(6)]
    results = [a_result(names[0]), *(a_result(n, rqps=0.8, verdict="slower") for n in names[1:])]

    assert lines(results, *names[1:]) == snapshot
    assert describe(results, names, {}) == []


def test_cautions_are_said_once_for_many_contenders(snapshot: SnapshotAssertion) -> None:
    names = [f"{A} n={number}" for number in range(6)]
    results = [
        a_result(names[0]),
        a_result(names[0], test="insert", busiest=0.95),
        *(a_result(name, rqps=0.8, verdict="slower", errors=2) for name in names[1:]),
        *(a_result(name, test="insert", rqps=1.0, verdict="unsure") for name in names[1:]),
    ]

    assert limits(report_of(results, *names[1:])) == snapshot


def test_clients_are_named_when_there_are_several(snapshot: SnapshotAssertion) -> None:
    results = with_base(
        a_result(B, clients=1, rqps=1.0, verdict="same"),
        a_result(B, clients=8, rqps=0.7, verdict="slower"),
    )

    assert lines(results) == snapshot


def test_a_partial_cause_is_called_partial(snapshot: SnapshotAssertion) -> None:
    before, switches = PerOperation(cs=6.0), PerOperation(cs=7.2)
    relative = relative_to(before, switches)
    results = [
        a_result(A, per_op=before),
        a_result(B, rqps=0.5, verdict="slower", per_op_relative=relative, per_op=switches),
    ]

    assert lines(results) == snapshot


@pytest.mark.parametrize(
    ("rqps", "verdict", "work", "moved"),
    [
        (0.5, "more", 2.0, {"server_cpu_us": 95.0}),
        (0.5, "more", 2.0, {}),
        (0.5, "more", 2.0, {"cs": 5.0}),
        (1.5, "more", 2.0, {}),
        (0.5, "same", 1.0, {}),
    ],
)
def test_counted_work_is_reported_where_the_time_has_no_parts(
    rqps: float,
    verdict: Amount,
    work: float,
    moved: dict[str, float],
    snapshot: SnapshotAssertion,
) -> None:
    ours = PerOperation({**OF_BASE, **moved})
    result = a_result(
        B,
        rqps=rqps,
        verdict="slower" if rqps < 1 else "faster",
        per_op=ours,
        per_op_relative=relative_to(OF_BASE, ours),
    )
    result.work = Work(
        source="valgrind",
        clients=1,
        instructions=1e5 * work,
        ratio=Ratio(work, verdict=verdict),
        repeats=6,
        incarnations=3,
    )

    assert lines(with_base(result)) == snapshot


def test_a_different_plan_is_the_explanation(snapshot: SnapshotAssertion) -> None:
    result = a_result(B, rqps=0.5, verdict="slower")
    result.evidence = [ANOTHER_PLAN]

    assert lines(with_base(result)) == snapshot


def test_a_failed_contender_is_reported_and_not_compared(snapshot: SnapshotAssertion) -> None:
    results = with_base(a_result(B, rqps=1.0, verdict="same"))

    sentences = describe(results, [A, B, C], {C: "did not start\nFATAL: no\n"})

    assert sentences[0] == snapshot
    assert not any("18.4" in sentence for sentence in sentences[1:])


def test_a_contender_without_a_complete_block_is_not_comparable(
    snapshot: SnapshotAssertion,
) -> None:
    sentences = describe(with_base(a_result(B)), [A, B], {})

    assert sentences == snapshot


def test_without_the_base_nothing_is_compared(snapshot: SnapshotAssertion) -> None:
    sentences = describe([a_result(B)], [A, B], {A: "it died"})

    assert sentences == snapshot


def test_one_contender_alone(snapshot: SnapshotAssertion) -> None:
    result = a_result(A)
    result.latency_us = LatencyUs(p50=16.2, p99=128.4)
    result.per_op = {"server_cpu_us": 10.44}
    first, second = describe([result], [A], {})
    assert first == snapshot
    assert second == snapshot
    *_, last = describe([result] * 10, [A], {})
    assert last == snapshot


def test_a_busy_client_and_errors_are_reported(snapshot: SnapshotAssertion) -> None:
    results = with_base(a_result(B, rqps=1.0, verdict="same", busiest=0.97, errors=3))

    assert limits(report_of(results, B)) == snapshot


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1, "1 second"),
        (43, "45 seconds"),
        (170, "3 minutes"),
        (1270, "20 minutes"),
        (7300, "2 hours"),
        (400_000, "110 hours"),
    ],
)
def test_rough_duration(seconds: float, words: str) -> None:
    assert rough_duration(seconds) == words


def test_listing() -> None:
    assert [listing(["a", "b", "c"][:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]


def test_names_lose_their_dbms_only_when_all_share_it() -> None:
    assert short_names([A, B]) == {A: "15.8", B: "17.6"}
    assert short_names([A, "mysql@8.0"]) == {A: A, "mysql@8.0": "mysql@8.0"}
    assert short_names(["/opt/pg", "/opt/new"])["/opt/pg"] == "/opt/pg"


def test_names_of_a_matrix_are_what_varies() -> None:
    matrix = ["mysql@9.7.4 fsync=off", "mysql@9.7.4 fsync=on"]
    assert list(short_names(matrix).values()) == ["fsync=off", "fsync=on"]
    mixed = [*matrix, "mysql@5.6.24 fsync=on"]
    assert list(short_names(mixed).values()) == [
        "9.7.4 fsync=off",
        "9.7.4 fsync=on",
        "5.6.24 fsync=on",
    ]
    plain = ["mysql@9.7.4", "mysql@9.7.4 fsync=on"]
    assert list(short_names(plain).values()) == ["9.7.4", "9.7.4 fsync=on"]
    environment = ["mysql@9.7.4+A=1 fsync=off binlog=on", "mysql@9.7.4+A=1 fsync=on binlog=on"]
    assert list(short_names(environment).values()) == ["fsync=off binlog=on", "fsync=on binlog=on"]


def test_a_blank_in_a_name_makes_no_matrix() -> None:
    named = ["pg old", "pg new"]
    assert list(short_names(named).values()) == named
    crossed = ["pg old fsync=off", "pg old fsync=on"]
    assert list(short_names(crossed).values()) == ["fsync=off", "fsync=on"]
    assert short_names([*crossed, "pg new fsync=on"])[crossed[0]] == crossed[0]
