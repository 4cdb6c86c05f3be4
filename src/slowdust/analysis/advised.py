"""Commands that a report advises; they measure the same work as the experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from slowdust.analysis.model import Report
from slowdust.benchmarks import BENCHMARKS, DEFAULT
from slowdust.commands import command_line
from slowdust.places import usual_results
from slowdust.store.folder import WORKLOAD_FILE
from slowdust.store.manifest import Manifest
from slowdust.units import Second
from slowdust.wording import short_duration

_OF_BISECT = {"benchmark", "clients", "rows", "cpus", "seed", "set"}
"""Options of `compare` that `bisect` also has."""


def typed_name(report: Report) -> str:
    return report.typed or report.experiment


def more(
    typed: str,
    tests: Sequence[str] = (),
    budget: Second | None = None,
    options: Mapping[str, object] | None = None,
) -> str:
    """Return the command that extends an experiment by `budget`; by default with all tests."""
    given = {
        "tests": ",".join(dict.fromkeys(tests)) or None,
        "budget": None if budget is None else short_duration(budget),
        **(options or {}),
    }
    return command_line(["more", typed], given)


def resume(typed: str, fleet: str | None = None) -> str:
    """Return the command that finishes an experiment, on its fleet if it has one."""
    return command_line(["run", typed], {"resume": True, "fleet": fleet})


def compare(
    manifest: Manifest,
    typed: str,
    contenders: Sequence[str],
    tests: Sequence[str],
    options: Mapping[str, object] | None = None,
) -> str | None:
    """Return the command that measures contenders in tests with the same work.

    `options` override the experiment's options. None if a command line cannot express it:
    for contenders of a matrix or with names of their own, servers that were already running, and
    experiments of a version that did not store options.
    """
    of_matrix = any(" " in name or "#" in name for name in contenders)
    running = any(facts.running for facts in manifest.contenders)
    if manifest.work_options is None or of_matrix or running:
        return None
    given = {"tests": ",".join(dict.fromkeys(tests)), **_workload(manifest, typed)}
    return command_line(
        ["compare", *contenders], {**given, **manifest.work_options, **(options or {})}
    )


def bisect(
    manifest: Manifest, typed: str, range_: str, test: str, options: Mapping[str, object]
) -> str | None:
    """Return the command that searches a range of releases for the change of a test.

    None if `bisect` cannot measure the same work.
    """
    work = manifest.work_options
    if work is None or not work.keys() <= _OF_BISECT:
        return None
    given: dict[str, object] = {"test": test, **_workload(manifest, typed), **work}
    benchmark = BENCHMARKS.get(str(work.get("benchmark", DEFAULT.name)))
    has_rows = manifest.workload is None and benchmark and "rows" not in benchmark.unused_keys
    if has_rows and manifest.method.rows is not None:
        given["rows"] = manifest.method.rows  # bisect has a different default
    return command_line(["bisect", range_], {**given, **options})


def _workload(manifest: Manifest, typed: str) -> dict[str, str]:
    """Return the option for the experiment's copy of the user's workload."""
    if manifest.workload is None:
        return {}
    folder = Path(typed) if "/" in typed else usual_results() / typed
    return {"workload": str(folder / WORKLOAD_FILE)}
