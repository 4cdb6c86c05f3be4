"""One or several calibrations as sentences and tables."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.analysis.calibration import (
    DIFFERENCES,
    MOST_TAKEN,
    difference_label,
    resolution,
    tally_tests,
    upper_bound,
)
from slowdust.analysis.model import CalibratedTest, Calibration, NeededTime, Tally
from slowdust.report.document import ABSENT, Column, Section, Table, table, text
from slowdust.report.markdown.table import or_absent
from slowdust.units import format_duration
from slowdust.wording import counted, foretold, resolution_phrase, step_label

_NOT_KNOWN = (
    "cannot be compared with the true difference, which is unknown if there are more clients than "
    f"CPUs, or if other programs may have used more than {MOST_TAKEN:.0%} of the clients' time."
)


def section(calibrations: Sequence[Calibration]) -> Section:
    """Return the extent, the verdicts by delay, and the noise of each test."""
    unknown = sum(tally.results - tally.known for tally in _tallies(calibrations))
    explained = [
        *EXPLANATIONS,
        *([f"{counted(unknown, 'result')} {_NOT_KNOWN}"] if unknown else []),
    ]
    return Section(
        "Calibration",
        [
            text(*_sentences(calibrations), role="lead"),
            _tally_table(calibrations),
            _test_table(calibrations),
            text(*explained),
        ],
        anchor="calibration",
        link="Calibration",
    )


EXPLANATIONS = (
    "A verdict is false if a build compared with itself is `faster` or `slower`, or if the "
    "verdict contradicts a known delay. In brackets: the largest share of false verdicts "
    "that is consistent with the results (95%), if these were independent; tests of one "
    "trial share restarts and data, so the share may be larger.",
    "Times are estimates for two contenders together, with which nine of ten differences of a size "
    "are found. They come from the median half-width of the intervals and the time these took, "
    "warm-up included, and reach up to 20 times that time.",
)


def _sentences(calibrations: Sequence[Calibration]) -> list[str]:
    texts = []
    for calibration in calibrations:
        levels = {test.clients for test in calibration.tests}
        at_levels = f" at {counted(len(levels), 'number')} of clients" if len(levels) > 1 else ""
        extent = (
            f"{calibration.contender} compared with itself: "
            f"{counted(len({test.test for test in calibration.tests}), 'test')}{at_levels}, "
            f"{counted(calibration.trials, 'trial')} of "
            f"{counted(calibration.incarnations, 'start')}, "
            f"{format_duration(calibration.seconds)} per contender and test in each."
        )
        if found := resolution(calibration.needed):
            text = resolution_phrase(found.difference, found.times)
            extent += f" {text[0].upper()}{text[1:]}."
        texts.append(extent)
        if calibration.taken is not None and calibration.taken > MOST_TAKEN:
            texts.append(
                "Other programs or the hypervisor used the clients' CPUs up to "
                f"{calibration.taken:.0%} of the time: a less busy host detects smaller "
                "differences."
            )
    return texts


def _tally_table(calibrations: Sequence[Calibration]) -> Table:
    header = ["slowed by", "results", "false verdicts", "found slower", "intervals that cover it"]
    rows = [_tally_row(tally) for tally in _tallies(calibrations)]
    return table(header, rows, left=1, name="Verdicts by known delay")


def _tallies(calibrations: Sequence[Calibration]) -> list[Tally]:
    return tally_tests(test for calibration in calibrations for test in calibration.tests)


def _tally_row(tally: Tally) -> list[str]:
    return [
        _share_label(tally.slowed),
        f"{tally.results:,}",
        f"{tally.false} of {tally.known} (at most {upper_bound(tally.false, tally.known):.1%})"
        if tally.known
        else ABSENT,
        ABSENT if tally.found is None else _of(tally.found, tally.results),
        _of(tally.covered, tally.intervals),
    ]


def _test_table(calibrations: Sequence[Calibration]) -> Table:
    """Return a row for each test of each calibration: its noise, and the time for a difference."""
    several = len(calibrations) > 1
    shares = sorted({test.slowed for one in calibrations for test in one.tests})
    header: list[str | Column] = [
        *(["contender"] if several else []),
        "test",
        *(Column(f"{_share_label(share)}: rqps (true)", part="noise") for share in shares),
        Column("half-width", part="noise"),
        Column("after", part="noise"),
        *(Column(f"{difference_label(each)} takes", part="times") for each in DIFFERENCES),
    ]
    rows = [
        [*([calibration.contender] if several else []), *row]
        for calibration in calibrations
        for row in _test_rows(calibration, shares)
    ]
    return table(header, rows, left=2 if several else 1, name="Noise and times by test")


def _test_rows(calibration: Calibration, shares: Sequence[float]) -> list[list[str]]:
    steps = list(dict.fromkeys((test.test, test.clients) for test in calibration.tests))
    levels = {clients for _, clients in steps}
    tests = {(test.test, test.clients, test.slowed): test for test in calibration.tests}
    needed = {(need.test, need.clients): need for need in calibration.needed}
    return [
        [
            step_label(*step, levels),
            *(_ratio_cell(tests.get((*step, share))) for share in shares),
            *_needed_cells(needed.get(step)),
        ]
        for step in steps
    ]


def _ratio_cell(test: CalibratedTest | None) -> str:
    if test is None:
        return ABSENT
    return f"{or_absent(test.ratio, '{:.3f}'.format)} ({or_absent(test.truth, '{:.3f}'.format)})"


def _needed_cells(need: NeededTime | None) -> list[str]:
    if need is None:
        return [ABSENT] * (2 + len(DIFFERENCES))
    times = (need.to_find[difference_label(difference)] for difference in DIFFERENCES)
    return [
        f"{need.half_width:.1%}",
        format_duration(need.seconds),
        *(foretold(seconds, need.furthest) for seconds in times),
    ]


def _share_label(share: float) -> str:
    """Return the share of throughput that a delay takes: 'nothing', '3%'."""
    return f"{share * 100:g}%" if share else "nothing"


def _of(count: int, whole: int) -> str:
    return f"{count} of {whole} ({count / whole:.1%})" if whole else ABSENT
