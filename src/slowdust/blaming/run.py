"""The releases of a range are measured: from the question to the stored experiments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import psutil

from slowdust.analysis.stored import Stored, read_stored
from slowdust.bisection.candidates import Candidate
from slowdust.blaming.releases import check_every, chosen_releases, side_by_side, windows
from slowdust.errors import SlowdustError, UsageError
from slowdust.experiment.claims.claim import WhenBusy
from slowdust.experiment.run import counting_of
from slowdust.experiment.setup import check_settings, resolve_contenders
from slowdust.experiment.spec.options import spec_from_options
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.unattended import Watching, run_or_finish, why_not_built
from slowdust.store.folder import Folder
from slowdust.store.keeping.series import SeriesFolder
from slowdust.wording import first_line, listing, shortened

SCHEMA = 1
STEPS = "steps"
"""The results folder of the experiments, within the folder of the series."""

Say = Callable[[str], None]


class Question(msgspec.Struct, kw_only=True, frozen=True):
    """The releases whose costs are asked for."""

    range: str
    """The releases as the user wrote them."""
    every: str
    """Which of them: 'major', '2major', '3'."""
    together: int | None
    """Most releases side by side; None for as many as the memory allows."""
    options: dict[str, Any]
    """Options of the experiments, as in `slowdust compare`; paths are absolute."""
    workload_sha256: str | None = None
    """Checksum of the user's own workload, if it is one."""


class Record(msgspec.Struct, kw_only=True):
    """A series of releases, `blame.json` in its folder."""

    schema: int = SCHEMA
    question: Question
    releases: list[Candidate]
    experiments: list[list[int]]
    """The places of the releases that each experiment has; neighbours share one."""
    skipped: dict[str, str] = {}
    """Release -> why it could not be had."""


def series_in(folder: Path) -> SeriesFolder:
    """Return the folder of a series."""
    return SeriesFolder(folder, "series of releases", "blame.json")


def begin(question: Question, listed: Sequence[Candidate], watching: Watching, say: Say) -> Record:
    """Return the record of a new series, once the builds of its releases are at hand.

    `listed` are all releases of the range. One that cannot be had is left out, or another of the
    same major release takes its place.

    Raises:
        UsageError: an option is wrong, or a release refuses a setting.
        SlowdustError: fewer than two releases can be had.
    """
    check_every(question.every)
    chosen = chosen_releases(listed, question.every)
    if len(chosen) < 2:
        raise UsageError(
            f"--every {question.every}: '{question.range}' has one such release, "
            f"{chosen[0][0].name}: two are needed, --every 1 takes all of them"
        )
    _check_options(question, [chosen[0][0], chosen[-1][0]])
    releases, skipped = [], {}
    for alternatives in chosen:
        for release in alternatives:
            spec = spec_from_options([release.contender], {**question.options, "name": "build"})
            error = why_not_built(spec, watching)
            if error is None:
                releases.append(release)
                break
            skipped[release.name] = first_line(str(error))
            say(f"{release.name} is left out: {error}")
    if len(releases) < 2:
        found = listing([release.name for release in releases]) or "none"
        reason = next(iter(skipped.values()))
        raise SlowdustError(
            f"of '{question.range}' {found} can be had, and two are needed: {reason}"
        )
    together = question.together or side_by_side(psutil.virtual_memory().available)
    record = Record(
        question=question,
        releases=releases,
        experiments=[[*places] for places in windows(len(releases), together)],
        skipped=skipped,
    )
    with watching() as view:
        for places in record.experiments:
            spec = _spec(record, [releases[place] for place in places], "build")
            check_settings(resolve_contenders(spec, view))
    return record


def _check_options(question: Question, ends: Sequence[Candidate]) -> None:
    """Raise UsageError where an option is wrong."""
    spec = spec_from_options([end.contender for end in ends], question.options)
    if len(spec.planned_contenders()) != len(ends):
        raise UsageError("--set: a series of releases has one value of each setting")
    counting_of(spec)


def take_up(series: SeriesFolder, question: Question) -> None:
    """Check that the series in a folder answers the same question; raise UsageError otherwise."""
    series.check_same(series.read(Record, SCHEMA).question, question)


def run(
    series: SeriesFolder, when_busy: WhenBusy, watching: Watching, say: Say
) -> tuple[list[Stored], list[str]]:
    """Measure what is left of a series; return its experiments, and notes on what is left out."""
    record = series.read(Record, SCHEMA)
    stored = []
    for number, places in enumerate(record.experiments, start=1):
        releases = [record.releases[place] for place in places]
        name = f"{releases[0].name}-to-{releases[-1].name}"
        results = series.path / STEPS
        names = listing([release.name for release in releases])
        say(f"experiment {number} of {len(record.experiments)}: {names}")
        run_or_finish(_spec(record, releases, name), results, when_busy, watching)
        stored.append(read_stored(Folder.of(results, name)))
    notes = []
    if record.skipped:
        first, reason = next(iter(record.skipped.items()))
        names = shortened([*record.skipped])
        notes.append(f"Left out, since they cannot be had here: {names}. Of {first}: {reason}.")
    notes += [
        f"{contender.name} dropped out: {contender.failed}"
        for each in stored
        for contender in each.manifest.contenders
        if contender.failed
    ]
    return stored, notes


def _spec(record: Record, releases: Sequence[Candidate], name: str) -> Spec:
    """Return the specification of an experiment, with its share of the budget of the series."""
    options = record.question.options
    spec = spec_from_options([each.contender for each in releases], {**options, "name": name})
    contenders = sum(map(len, record.experiments))
    return spec.model_copy(update={"budget": spec.budget * len(releases) / contenders})
