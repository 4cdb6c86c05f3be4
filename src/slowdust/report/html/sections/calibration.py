"""What a calibration shows of the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slowdust.analysis.model import Report
from slowdust.report.calibration import Table, explanations, sentences, tally_table, test_table


@dataclass(frozen=True)
class CalibrationView:
    """The sentences and tables of a calibration."""

    sentences: Sequence[str]
    tables: Sequence[tuple[str, Table]]
    """Each with its name for those who do not see it."""
    explanations: Sequence[str]


def calibration_view(report: Report) -> CalibrationView | None:
    """Return the view of a report's calibration; None if it is none."""
    if report.calibration is None:
        return None
    shown = [report.calibration]
    return CalibrationView(
        sentences=sentences(shown),
        tables=[
            ("Verdicts by known delay", tally_table(shown)),
            ("Noise and times by test", test_table(shown)),
        ],
        explanations=explanations(shown),
    )
