"""Archived runs: what they have in place of measurements, and what they cannot have.

An archived run was imported, not measured here: each of its tests ran once, its files have means
and no totals, and its binaries are gone. All that depends on this asks here.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from slowdust.analysis.metrics import PerOperation
from slowdust.analysis.model import Report, Result
from slowdust.store.archived import Archived, ArchivedRole, Counters
from slowdust.store.latency import LatencyUs
from slowdust.store.manifest import ArchivedTable, ContenderFacts, Manifest
from slowdust.store.slice import Slice
from slowdust.store.step import RoleUse
from slowdust.units import known

_MODES = {"compat": "as published, to the last digit", "clean": "without known errors"}
"""Treatment of the files' numbers by an import."""


def kind_of_import(manifest: Manifest) -> str | None:
    """Return the kind of archive that the experiment comes from; None if it was measured here."""
    return manifest.imported.kind if manifest.imported else None


def describe_import(manifest: Manifest) -> dict[str, str]:
    """Return label -> value, ready to print; empty if the experiment was measured here."""
    if (source := manifest.imported) is None:
        return {}
    return {
        "archived run of": source.kind,
        "imported from": source.source,
        "numbers": _MODES.get(source.mode, source.mode),
        **({"device": source.device} if source.device else {}),
    }


def directory_of(manifest: Manifest) -> tuple[str, str, str | None] | None:
    """Return kind, path and condition of the directory that was imported; None without one."""
    imported = manifest.imported
    if imported is None or imported.path is None:
        return None
    return imported.kind, imported.path, imported.condition


def imported_directories(manifest: Manifest) -> list[Path]:
    """Return the directories of which all was imported: the archive, or only some runs in it."""
    if manifest.imported is None or manifest.imported.path is None:
        return []
    archive = Path(manifest.imported.path)
    runs = [archive / facts.archived for facts in manifest.contenders if facts.archived]
    return [archive] if manifest.imported.whole else runs


def tables_of(manifest: Manifest) -> list[ArchivedTable]:
    """Return the summary tables of the archive; none if the experiment was measured here."""
    return manifest.imported.tables if manifest.imported else []


def run_of(facts: ContenderFacts) -> str:
    """Return the name of the contender's run in its archive; its own name if it has none."""
    return facts.archived or facts.name


def is_known_by_name_alone(facts: ContenderFacts) -> bool:
    """Return whether version and config of the contender are known from its name only."""
    return bool(facts.archived)


def has_single_runs(report: Report) -> bool:
    """Return whether the report is about archived runs, one of each contender."""
    return report.imported is not None


def is_single_run(slices: Iterable[Slice]) -> bool:
    """Return whether a test ran only once, so that it has neither interval nor verdict."""
    return bool(_archived(slices))


def counts_errors(slices: Iterable[Slice]) -> bool:
    """Return whether errors and retries were counted: 0 then means that there were none."""
    return not _archived(slices)


def lists_all_roles(record: Slice) -> bool:
    """Return whether a role that is not in a step did nothing, and is not merely unknown."""
    return not _archived([record])


def times_operations(result: Result) -> bool:
    """Return whether its response times are those of the operations that its rate counts.

    An event of sysbench has many queries, or is a scan of a whole table; errors are counted of
    what was measured here.
    """
    return result.errors is not None


def printed_response(slices: Iterable[Slice]) -> LatencyUs | None:
    """Return the response times that the first run with any printed."""
    return next(iter(known(run.response for run in _archived(slices))), None)


def printed_role(use: RoleUse) -> ArchivedRole | None:
    """Return what an archive has of a role in place of totals."""
    return use.archived


def printed_counters(slices: Iterable[Slice]) -> Counters | None:
    """Return the hardware counters of the first run that has any."""
    return next(iter(known(run.counters for run in _archived(slices))), None)


def printed_per_operation(slices: Iterable[Slice]) -> list[PerOperation]:
    """Return the means per operation of each run."""
    return [run.per_operation for run in _archived(slices)]


def printed_notes(slices: Iterable[Slice]) -> list[str]:
    """Return the notes that the import made about the runs, each once."""
    return list(dict.fromkeys(note for run in _archived(slices) for note in run.notes))


def _archived(slices: Iterable[Slice]) -> list[Archived]:
    return known(record.archived for record in slices)
