"""Experiments that another program orders: run to their end, or taken up where they stopped."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from slowdust.builds.sources.client import SourceUnavailable
from slowdust.errors import HostError, SlowdustError
from slowdust.experiment.claims.claim import WhenBusy
from slowdust.experiment.journal import StartMode
from slowdust.experiment.run import run_experiment
from slowdust.experiment.setup import resolve_contenders
from slowdust.experiment.spec.spec import Spec, read_spec
from slowdust.experiment.view import View
from slowdust.store.folder import Folder

Watching = Callable[[], AbstractContextManager[View]]


def run_or_finish(spec: Spec, results: Path, when_busy: WhenBusy, watching: Watching) -> None:
    """Run an experiment, or what is left of it; do nothing where it is finished."""
    folder, mode = Folder.of(results, spec.name), StartMode.FRESH
    if folder.has_manifest():
        if folder.read_manifest().finished is not None:
            return
        mode, spec = StartMode.RESUME, read_spec(folder.spec_file)
    with watching() as view:
        run_experiment(spec, results, mode, view, when_busy)


def why_not_built(spec: Spec, watching: Watching) -> SlowdustError | None:
    """Fetch or compile the builds of an experiment; return why one of them cannot be had.

    Raises:
        SlowdustError: what would fail for every build, as a disk, a network or a lack of compilers.
    """
    with watching() as view:
        try:
            resolve_contenders(spec, view)
        except (SourceUnavailable, HostError):
            raise
        except SlowdustError as error:
            if isinstance(error.__cause__, OSError):
                raise
            return error
    return None
