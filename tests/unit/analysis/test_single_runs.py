"""Analysis of archived runs, which have one slice each."""

from collections.abc import Sequence

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.metrics import PerOperation
from slowdust.analysis.model import Report, Result
from slowdust.analysis.results.notes import notes_about_clock
from slowdust.analysis.results.per_op import per_operation, relative_counters
from slowdust.analysis.stored import analyse
from slowdust.ratios import Ratio
from slowdust.store.latency import LatencyUs
from slowdust.store.manifest import BuildFacts, ContenderFacts, Manifest, Method
from slowdust.store.measured import Counters, Printed
from slowdust.store.slice import SCHEMA, Place, Slice
from slowdust.wording import short_names
from tests.unit.ratios import value_of

OLD, NEW = "postgres@10.23:x10a+o2", "postgres@17.4:x10a+o2"
UNIT = "queries/s"


def archived(contender: str, test: str, qps: float, unit: str = UNIT, cpu: float = 10.0) -> Slice:
    return Slice(
        place=Place(benchmark="sysbench", test=test, clients=40, contender=contender),
        qps=qps,
        unit=unit,
        printed=Printed(per_operation={"host_cpu_us": cpu, "host_cs": 2.0}),
    )


def judged(*slices: Slice, others: Sequence[str] = ()) -> Report:
    contenders = [
        ContenderFacts(
            name=name,
            dbms="postgres",
            build=BuildFacts(source="archived", version=name.partition("@")[2].partition(":")[0]),
            config="x10a",
            settings={},
        )
        for name in (OLD, NEW, *others)
    ]
    manifest = Manifest(
        schema=SCHEMA,
        experiment="a",
        slowdust="0",
        base=OLD,
        contenders=contenders,
        tests=list(dict.fromkeys(record.place.test for record in slices)),
        clients=[40],
        method=Method(margin=0.03, incarnations=1),
    )
    return analyse(manifest, slices)


def of(report: Report, contender: str, test: str) -> Result:
    return next(r for r in report.results if (r.contender, r.test) == (contender, test))


def test_unmeasured_values_are_absent() -> None:
    report = judged(archived(OLD, "scan.range100", 10.0), archived(NEW, "scan.range100", 12.0))
    for contender in (OLD, NEW):
        result = of(report, contender, "scan.range100")
        assert (result.measured_s, result.latency_us, result.client_busiest_thread) == (None,) * 3
        assert (result.errors, result.retries, result.backends_changed) == (None,) * 3
        assert result.ratio is None or result.ratio == Ratio(result.ratio.value)
    assert value_of(of(report, NEW, "scan.range100").ratio) == pytest.approx(1.2)
    assert report.started is None
    assert set(report.method) == {"clients", "incarnations", "margin", "slowdust"}


def test_results_are_counted_by_bands_where_there_are_no_verdicts(
    snapshot: SnapshotAssertion,
) -> None:
    rates = {"hot-points.range100": 1.2, "insert.range100": 1.0, "scan.range100": 0.8}
    report = judged(
        *(archived(OLD, test, 100.0) for test in rates),
        *(archived(NEW, test, 100.0 * rate, cpu=10.0 / rate) for test, rate in rates.items()),
    )
    assert report.tldr == snapshot
    assert not any(result.verdict for result in report.results)


@pytest.mark.parametrize(
    ("test", "unit", "qps", "event_us", "counted"),
    [
        # 40 clients, whose events are 16 queries each.
        ("read-only.range10000", UNIT, 8_000.0, 80_000.0, "query"),
        # 40 clients; each reads the 10 million rows of its table.
        ("scan", "thousand rows/s", 100_000.0, 4_000_000.0, "thousand rows"),
    ],
)
def test_the_time_of_an_archived_operation_is_of_what_its_rate_counts(
    test: str, unit: str, qps: float, event_us: float, counted: str, *, snapshot: SnapshotAssertion
) -> None:
    cpu = 0.3 * 40 * 1e6 / qps
    slices = [
        archived(OLD, test, qps, unit, cpu=cpu),
        archived(NEW, test, 0.92 * qps, unit, cpu=1.09 * cpu),
    ]
    for record in slices:
        assert record.printed is not None
        record.printed.response = LatencyUs(mean=event_us)

    text = " ".join(judged(*slices).tldr)

    assert text == snapshot


def test_rates_in_different_units_are_not_compared(snapshot: SnapshotAssertion) -> None:
    report = judged(
        archived(OLD, "scan.range100", 2800.0, "thousand rows/s of one thread"),
        archived(NEW, "scan.range100", 112_500.0, "thousand rows/s"),
    )
    result = of(report, NEW, "scan.range100")
    assert (result.ratio, result.per_op_relative) == (None, None)
    assert result.notes == snapshot


def test_hardware_per_operation_is_taken_as_it_is() -> None:
    use = per_operation([archived(OLD, "scan.range100", 10.0)])
    assert use == PerOperation(host_cpu_us=10.0, host_cs=2.0)


def test_counters_are_relative_per_operation_and_ratios_as_they_are(
    snapshot: SnapshotAssertion,
) -> None:
    base = Counters(per_operation={"cycles": 100.0, "faults": 0.0, "a": 1.0}, ratios={"GHz": 2.7})
    ours = Counters(per_operation={"cycles": 210.0, "faults": 1.0, "b": 1.0}, ratios={"GHz": 2.7})
    relative = relative_counters(base, ours)
    assert relative is not None
    assert list(relative.items()) == [("GHz", 1.0), ("cycles", 2.1)]
    assert relative_counters(base, None) is None
    assert notes_about_clock(relative) == []
    assert notes_about_clock({"GHz": 0.9}) == snapshot


def test_common_suffixes_of_versions_are_omitted() -> None:
    assert short_names([OLD, NEW]) == {OLD: "10.23", NEW: "17.4"}
    allocators = ["mysql@8.0.40:a+je", "mysql@8.0.40:a+tc"]
    assert list(short_names(allocators).values()) == ["8.0.40:a+je", "8.0.40:a+tc"]


def test_steps_between_versions_need_no_test_of_the_base(snapshot: SnapshotAssertion) -> None:
    """Only units that differ cannot be compared."""
    newest = "postgres@17.7:x10a+o2"
    slices = [
        archived(OLD, "hot-points.range100", 100.0),
        archived(NEW, "hot-points.range100", 100.0),
        archived(newest, "hot-points.range100", 100.0),
        archived(NEW, "point-query.range100", 500.0),
        archived(newest, "point-query.range100", 250.0),
        archived(NEW, "random-points.range10", 500.0),
        archived(newest, "random-points.range10", 250.0, unit="others/s"),
    ]

    report = judged(*slices, others=[newest])

    (changes,) = report.group_changes
    assert changes.title == snapshot
    assert changes.clauses[:2] == snapshot
