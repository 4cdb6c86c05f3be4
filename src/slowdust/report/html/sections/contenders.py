"""The contenders: what they are, and their settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from slowdust.analysis.model import Report
from slowdust.analysis.results.contenders import unknown_settings


@dataclass(frozen=True)
class ContendersView:
    """The columns of the tables of contenders."""

    particulars: Mapping[str, Mapping[str, str | None]]
    """Engine, environment and allocator, those that any contender has: title -> by contender."""
    differing_settings: tuple[str, ...]
    all_settings: tuple[str, ...]
    unknown_settings: tuple[str, ...]
    """Sentences: which version does not know which optional settings."""


def contenders_view(report: Report) -> ContendersView:
    """Return the view of a report's contenders."""
    infos = report.contender_info
    particulars: dict[str, dict[str, str | None]] = {
        "Engine": {info.name: info.engine for info in infos},
        "Environment": {info.name: ", ".join(info.environment) or None for info in infos},
        "Allocator": {info.name: info.allocator for info in infos},
    }
    return ContendersView(
        particulars={title: known for title, known in particulars.items() if any(known.values())},
        differing_settings=_names(info.differing for info in infos),
        all_settings=_names(info.settings for info in infos),
        unknown_settings=tuple(unknown_settings(infos)),
    )


def _names(settings: Iterable[Mapping[str, str]]) -> tuple[str, ...]:
    """Return the names of settings, sorted and without repetitions."""
    return tuple(sorted({name for some in settings for name in some}))
