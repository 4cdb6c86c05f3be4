"""Calibrations for their readers: sentences and tables, of one or of several together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slowdust.analysis.calibration.calibration import resolution, tallies_of
from slowdust.analysis.calibration.model import Calibration, Tally
from slowdust.analysis.calibration.trials import MOST_TAKEN
from slowdust.report.markdown.table import ABSENT, or_absent, table
from slowdust.units import Second, format_duration
from slowdust.wording import counted, step_label

_LEVEL = 0.95
_NOT_KNOWN = (
    "cannot be compared with the truth: it is not known where more clients than CPUs are at work, "
    f"or where others may have taken more than {MOST_TAKEN:.0%} of the clients' time."
)


@dataclass(frozen=True)
class Table:
    """A table of text: the first `left` columns are words, the others numbers."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1


def lines(calibrations: Sequence[Calibration]) -> list[str]:
    """Return calibrations as paragraphs and padded tables."""
    return [
        *sentences(calibrations),
        "",
        *_drawn(tally_table(calibrations)),
        "",
        *_drawn(test_table(calibrations)),
        "",
        *explanations(calibrations),
    ]


EXPLANATIONS = (
    "False are `faster` and `slower` of a build beside itself, and what contradicts a known delay; "
    "in brackets the largest share of false verdicts that such a count leaves possible (95%).",
    "Times are those of two contenders together, in which nine of ten differences of that size are "
    "found: an estimate, from the median half-width of the intervals and the time they took.",
)


def explanations(calibrations: Sequence[Calibration]) -> list[str]:
    """Return sentences on how to read the tables, and on what is missing in them."""
    unknown = sum(tally.results - tally.intervals for tally in _tallies(calibrations))
    if not unknown:
        return list(EXPLANATIONS)
    return [*EXPLANATIONS, f"{counted(unknown, 'result')} {_NOT_KNOWN}"]


def sentences(calibrations: Sequence[Calibration]) -> list[str]:
    """Return a sentence on the extent of each calibration, and one on what it resolves."""
    texts = []
    for calibration in calibrations:
        extent = (
            f"{calibration.contender} beside itself: {counted(len(calibration.needed), 'test')}, "
            f"{counted(calibration.trials, 'trial')} of "
            f"{counted(calibration.incarnations, 'incarnation')}, "
            f"{format_duration(calibration.seconds)} of measuring per contender and test in each."
        )
        resolved = resolution(calibration.needed)
        texts.append(f"{extent} {resolved[0].upper()}{resolved[1:]}." if resolved else extent)
        if calibration.taken is not None and calibration.taken > MOST_TAKEN:
            texts.append(
                f"Other programs or the hypervisor had the clients' CPUs in up to "
                f"{calibration.taken:.0%} of the time: a calmer host can tell more."
            )
    return texts


def tally_table(calibrations: Sequence[Calibration]) -> Table:
    """Return the counts over all tests of all calibrations, by the share that the delay takes."""
    header = ["slowed by", "results", "false verdicts", "found slower", "intervals with the truth"]
    return Table(header, [_tally_row(tally) for tally in _tallies(calibrations)])


def _tallies(calibrations: Sequence[Calibration]) -> list[Tally]:
    return tallies_of(test for calibration in calibrations for test in calibration.tests)


def _tally_row(tally: Tally) -> list[str]:
    most = most_likely_at_most(tally.false, tally.results)
    return [
        share_label(tally.slowed),
        f"{tally.results:,}",
        f"{tally.false} ({most:.1%})",
        ABSENT if tally.found is None else _of(tally.found, tally.results),
        _of(tally.covered, tally.intervals),
    ]


def most_likely_at_most(count: int, of: int) -> float:
    """Return the upper bound at 95% of a share of which `count` of `of` were seen.

    Clopper and Pearson 1934, Biometrika 26, one-sided.
    """
    from scipy.special import betaincinv

    return 1.0 if count >= of else float(betaincinv(count + 1, of - count, _LEVEL))


def test_table(calibrations: Sequence[Calibration]) -> Table:
    """Return a row for each test of each calibration: its noise, and what differences take."""
    several = len(calibrations) > 1
    first = calibrations[0].needed[0].to_find if calibrations[0].needed else {}
    shares = sorted({test.slowed for one in calibrations for test in one.tests})
    header = [
        *(["contender"] if several else []),
        "test",
        *(f"{share_label(share)}: rqps (truth)" for share in shares),
        "half-width",
        "after",
        *(f"{difference} takes" for difference in first),
    ]
    rows = [
        [*([calibration.contender] if several else []), *row]
        for calibration in calibrations
        for row in _test_rows(calibration, shares)
    ]
    return Table(header, rows, left=2 if several else 1)


def _test_rows(calibration: Calibration, shares: Sequence[float]) -> list[list[str]]:
    levels = {need.clients for need in calibration.needed}
    tests = {(test.test, test.clients, test.slowed): test for test in calibration.tests}
    rows = []
    for need in calibration.needed:
        cells = [tests.get((need.test, need.clients, share)) for share in shares]
        rows.append(
            [
                step_label(need.test, need.clients, levels),
                *(
                    ABSENT
                    if cell is None
                    else f"{or_absent(cell.ratio, _fine)} ({or_absent(cell.truth, _fine)})"
                    for cell in cells
                ),
                f"{need.half_width:.1%}",
                format_duration(need.seconds),
                *_times(need.to_find),
            ]
        )
    return rows


def share_label(share: float) -> str:
    """Return the share that a delay takes as words: 'nothing', '3%'."""
    return f"{share:.0%}" if share else "nothing"


def _fine(value: float) -> str:
    return f"{value:.3f}"


def _times(to_find: Mapping[str, Second]) -> list[str]:
    return [format_duration(seconds) for seconds in to_find.values()]


def _of(count: int, whole: int) -> str:
    return f"{count} of {whole} ({count / whole:.1%})" if whole else ABSENT


def _drawn(drawn: Table) -> list[str]:
    return table(drawn.header, drawn.rows, left=drawn.left)
