"""`slowdust blame` as a study: compares releases, as many at once as memory allows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import TypeVar

import msgspec
import psutil

from slowdust.analysis.blame import Blame, blame_of
from slowdust.analysis.history.history import Choice
from slowdust.analysis.results.failures import failed_wholly
from slowdust.analysis.stored import Stored
from slowdust.analysis.story.bands import DEFAULT_BANDS
from slowdust.builds.catalog import version_parts
from slowdust.builds.model import Progress
from slowdust.dbms import family
from slowdust.errors import SlowdustError, UsageError
from slowdust.experiment.experiment import Experiment, Lab, build_error
from slowdust.experiment.local_lab import choose_counting
from slowdust.experiment.setup import check_settings
from slowdust.experiment.spec.options import spec_from_options
from slowdust.experiment.spec.spec import Spec
from slowdust.report.blame import document
from slowdust.report.document import Document
from slowdust.studies.candidates import Candidate, released
from slowdust.studies.engine import Asked, Order, Study, Unfit
from slowdust.wording import counted, first_line, listing, shortened

MAJOR = "major"
_EVERY = re.compile(r"(?P<number>\d*)(?P<major>major)?")
_PER_SERVER = 1_500_000_000
"""Bytes of memory for a server under valgrind, with a small page cache."""

ALL = Choice(
    benchmark=lambda _: True,
    test=lambda _: True,
    base=None,
    bands=DEFAULT_BANDS,
    configs=None,
    host=None,
)
"""Everything in the experiments."""

_Item = TypeVar("_Item")


class Question(Asked, kw_only=True, frozen=True):
    """The releases whose costs the user asks for."""

    range: str
    """The releases as the user wrote them."""
    every: str
    """The releases to measure: 'major', '2major', '3'."""
    together: int | None
    """Maximum number of releases in one experiment; None for as many as memory allows."""


class Record(msgspec.Struct, kw_only=True):
    """A series of releases, `blame.json` in its folder."""

    schema: int = 1
    question: Question
    releases: list[Candidate]
    experiments: list[list[int]]
    """Places of the releases of each experiment; neighbours share one."""
    skipped: dict[str, str] = {}
    """Release -> why it is not available."""


class Blaming(Study[Question, Record, Blame]):
    """Measures the releases of a range, to show what each of them cost."""

    noun = "series of releases"
    short_noun = "series"
    kept = "experiments"
    record_file = "blame.json"
    record_type = Record

    def begin(self, question: Question, lab: Lab, say: Progress) -> Record:
        """Return the record of a new series, once its builds are available.

        An unavailable release is replaced by another of the same major release, or skipped.

        Raises:
            UsageError: an option is wrong, or a release rejects a setting.
            SlowdustError: fewer than two releases are available.
        """
        listed = released(question.range).listed
        check_every(question.every)
        chosen = chosen_releases(listed, question.every)
        if len(chosen) < 2:
            raise UsageError(
                f"--every {question.every}: '{question.range}' has one such release, "
                f"{chosen[0][0].name}, and two are needed; --every 1 takes all releases"
            )
        _check_options(question, [chosen[0][0], chosen[-1][0]])
        releases: list[Candidate] = []
        skipped: dict[str, str] = {}
        for alternatives in chosen:
            for release in alternatives:
                options = {**question.options, "name": "build"}
                error = build_error(lab, spec_from_options([release.contender], options))
                if error is None:
                    releases.append(release)
                    break
                skipped[release.name] = first_line(str(error))
                say(f"skipped {release.name}: {error}")
        if len(releases) < 2:
            found = listing([release.name for release in releases]) or "none"
            reason = next(iter(skipped.values()))
            raise SlowdustError(
                f"'{question.range}': two available releases are needed, found {found}: {reason}"
            )
        together = question.together or side_by_side(psutil.virtual_memory().available)
        record = Record(
            question=question,
            releases=releases,
            experiments=[[*places] for places in windows(len(releases), together)],
            skipped=skipped,
        )
        for number in range(len(record.experiments)):
            check_settings(lab.prepare(_spec(record, number)))
        return record

    def open(self, folder: Path, say: Progress) -> None:
        """Begin with the first experiment; measured ones are only read."""
        del folder
        self._say = say
        self.measured: list[Stored] = []

    def next(self) -> Order | None:
        """Return the next experiment."""
        number, record = len(self.measured), self.record
        if number == len(record.experiments):
            return None
        names = listing([record.releases[place].name for place in record.experiments[number]])
        self._say(f"experiment {number + 1} of {len(record.experiments)}: {names}")
        return Order(_spec(record, number))

    def learn(self, order: Order, found: Experiment | Unfit) -> None:
        """Store an experiment; a release that cannot be measured fails the series."""
        del order
        if isinstance(found, Unfit):
            raise found.error
        self.measured.append(found.stored)

    @property
    def failed(self) -> bool:
        """Whether a test failed in all executions on a release."""
        return any(failed_wholly(each.report()) for each in self.measured)

    def outcome(self) -> Blame:
        """Return what each release cost, with notes on skipped releases."""
        blame = blame_releases(self.measured, ALL)
        skipped = self.record.skipped
        if skipped:
            first, reason = next(iter(skipped.items()))
            names = shortened([*skipped])
            blame.notes.append(
                f"Skipped, because they are not available here: {names}. {first}: {reason}."
            )
        blame.notes += [
            f"{contender.name} dropped out: {contender.failed}"
            for each in self.measured
            for contender in each.manifest.contenders
            if contender.failed
        ]
        return blame

    def document(self, outcome: Blame) -> Document:
        """Return the costs as a document."""
        return document(outcome)


def blame_releases(stored: Sequence[Stored], choice: Choice) -> Blame:
    """Return what the releases of these experiments cost.

    Raises:
        UsageError: no two releases are compared.
    """
    blame = blame_of(stored, choice)
    if not blame.lines:
        raise UsageError(
            "no two releases of a DBMS are compared in "
            f"{counted(len(stored), 'experiment')}. {' '.join(blame.notes)}".rstrip()
        )
    return blame


def _check_options(question: Question, ends: Sequence[Candidate]) -> None:
    """Raise UsageError if an option is wrong."""
    spec = spec_from_options([end.contender for end in ends], question.options)
    if len(spec.planned_contenders()) != len(ends):
        raise UsageError("--set: blame takes one value per setting")
    choose_counting(spec)


def _spec(record: Record, number: int) -> Spec:
    """Return an experiment, with its share of the budget of the series."""
    releases = [record.releases[place] for place in record.experiments[number]]
    name = f"{releases[0].name}-to-{releases[-1].name}"
    options = {**record.question.options, "name": name}
    spec = spec_from_options([each.contender for each in releases], options)
    contenders = sum(map(len, record.experiments))
    return spec.model_copy(update={"budget": spec.budget * len(releases) / contenders})


def check_every(text: str) -> None:
    """Raise UsageError unless the text chooses releases: 'major', '2major', '3'."""
    match = _EVERY.fullmatch(text)
    if not text or match is None or match["number"].strip("0") == "" != match["number"]:
        raise UsageError(
            f"--every {text}: write major (the newest of each major release), 2major (every second "
            "of these) or a number (1 takes all releases, 3 every third)"
        )


def chosen_releases(listed: Sequence[Candidate], every: str) -> list[list[Candidate]]:
    """Return the releases to measure, each as a list of alternatives, the best first.

    `every` is as in `check_every`. The list always has the last release of the range, and the first
    release or a release of the first major one.
    """
    match = _EVERY.fullmatch(every)
    assert match is not None, "it was checked"
    number = int(match["number"] or 1)
    if not match["major"]:
        return [[each] for each in _spread(listed, number)]
    majors = [[*group][::-1] for _, group in groupby(listed, major_release)]
    return _spread(majors, number)


def _spread(items: Sequence[_Item], number: int) -> list[_Item]:
    """Return every `number`-th item, and always the first and the last."""
    chosen = [*items[::number]]
    return chosen if (len(items) - 1) % number == 0 else [*chosen, items[-1]]


def major_release(release: Candidate) -> tuple[int, ...]:
    """Return the version numbers of the major release that a release belongs to."""
    dbms = release.contender.partition("@")[0]
    return family(dbms).major(version_parts(release.name))


def side_by_side(available: int) -> int:
    """Return the number of servers that fit into `available` bytes of memory, at least two."""
    return max(2, int(available // _PER_SERVER))


def windows(count: int, together: int) -> Iterator[range]:
    """Yield the places of the releases of each experiment; neighbours share one release.

    There are as few experiments as possible, of about equal size.
    """
    steps = count - 1
    experiments = -(-steps // (together - 1))
    begins = [round(steps * number / experiments) for number in range(experiments + 1)]
    for first, last in pairwise(begins):
        yield range(first, last + 1)
