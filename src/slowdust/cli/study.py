"""What commands share that answer a question by several experiments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from slowdust.benchmarks import DEFAULT
from slowdust.builds.fingerprint import sha256_of
from slowdust.cli.conduct_fleet import open_fleet
from slowdust.errors import UsageError
from slowdust.experiment.experiment import PAGE_FILE, Lab
from slowdust.experiment.host_locks import WhenBusy
from slowdust.experiment.local_lab import LocalLab
from slowdust.fleet.lab import FleetLab
from slowdust.fleet.queue import Asked, Unfit
from slowdust.formats.text import visible
from slowdust.places import named_path, within
from slowdust.store.experiments import check_name
from slowdust.studies.engine import NOTE_FILE, Study, run_study

_ROWS = 10_000
"""Rows of each table: enough to tell what an operation costs, and loaded quickly."""
_PATHS = ("repo", "workload")

_Outcome = TypeVar("_Outcome")


def say(text: str) -> None:
    """Print progress."""
    click.echo(visible(text), err=True)


def folder_of_study(
    noun: str, command: str, subject: str, name: str | None, results: Path, *, resumes: bool
) -> Path:
    """Return the folder of a study, whose name is by default made of its subject and the time.

    Raises:
        UsageError: the name is not valid, or is missing where a study is resumed.
    """
    if resumes and name is None:
        raise UsageError(f"--resume needs the --name of the {noun} that goes on")
    if name is None:
        short = re.sub(r"[^A-Za-z0-9._]+", "-", subject).strip("-._")[:60]
        name = f"{command}-{short}-{datetime.now():%Y%m%d-%H%M%S}"
    check_name(name)
    return within(results, name)


def given_options(options: Mapping[str, object]) -> dict[str, Any]:
    """Return the options that were given, with paths as they are from any directory.

    There are few rows, unless the user says how many or the benchmark is another one than usual.
    """
    given = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in options.items()
        if value not in (None, ())
    }
    for key in _PATHS:
        if key in given and (path := named_path(str(given[key]))).exists():
            given[key] = str(path.absolute())
    usual = "workload" not in given and given.get("benchmark", DEFAULT.name) == DEFAULT.name
    return {"rows": _ROWS, **given} if usual else given


def checksum_of(path: object) -> str | None:
    """Return the SHA-256 of a workload's file; None without one that can be read."""
    return sha256_of(Path(path)) if isinstance(path, str) and Path(path).is_file() else None


def answer(
    study: Study[Any, Any, _Outcome],
    question: object,
    folder: Path,
    lab: AbstractContextManager[Lab],
    *,
    resumes: bool = False,
) -> _Outcome:
    """Return the answer to a question, begun or resumed in a lab."""
    with lab as opened:
        return run_study(study, question, folder, opened, say, resumes=resumes)


def lab_of(
    when_busy: WhenBusy, address: str | None, *, unfit: bool
) -> AbstractContextManager[LocalLab | FleetLab]:
    """Return this host, or the hosts of the fleet at an address.

    Raises:
        UsageError: options contradict each other.
    """
    if address is None:
        if unfit:
            raise UsageError("--unfit: there is no fleet without --fleet ADDRESS")
        return nullcontext(LocalLab(when_busy))
    if when_busy is WhenBusy.FAIL:
        raise UsageError("--no-wait: what a fleet measures waits for its turn on each host")
    return open_fleet(address, Asked(unfit=Unfit.USE if unfit else None))


def tell_files(folder: Path) -> None:
    """Say where the page and the note of a study are."""
    say(f"report: {folder / PAGE_FILE}, note: {folder / NOTE_FILE}")
