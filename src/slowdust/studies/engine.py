"""The engine of studies: only it reads and writes their folders and runs their experiments.

A study decides which experiment comes first and which comes next, what follows from a measured one,
and what the answer is. `run_study` does the rest: the lock, the record, resuming, progress, and the
pages at the end. A kill loses only what the running experiment has not written yet.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, TypeVarTuple

import msgspec

from slowdust.accounts import ends_with_this_process
from slowdust.builds.model import Progress
from slowdust.errors import SlowdustError, UsageError
from slowdust.experiment.experiment import PAGE_FILE, Experiment, Lab, build_error
from slowdust.experiment.setup import RefusedError
from slowdust.experiment.spec.spec import Spec
from slowdust.report.document import Document
from slowdust.report.html import blocks
from slowdust.report.markdown import document as markdown
from slowdust.report.markdown.table import escaped
from slowdust.store.storage import replace_file
from slowdust.store.study_folder import StudyFolder
from slowdust.units import Second
from slowdust.wording import first_line

_LEAST_PRIORITY = 19
_END_WITHIN: Second = 20.0
"""Time for the program to stop its compilers and exit."""


class BuildsAhead:
    """Builds contenders in the background: `slowdust builds get` with the lowest priority.

    A failed build is not an error here: it is built again when it is needed, and fails then.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def build(self, contenders: Sequence[str], repository: str | None) -> None:
        """Start to build contenders; do nothing while earlier builds are running."""
        if not contenders or (self._process is not None and self._process.poll() is None):
            return
        where = [] if repository is None else ["--repo", repository]
        command = [sys.executable, "-m", "slowdust", "builds", "get", *where]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *contenders],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C stops the search, which stops this
                preexec_fn=_with_least_priority(),  # noqa: PLW1509 - only system calls
            )

    def close(self) -> None:
        """Stop the running build."""
        if self._process is None:
            return
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_WITHIN)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # with its compilers
        self._process.wait()


def _with_least_priority() -> Callable[[], None]:
    end_with_parent = ends_with_this_process(signal.SIGTERM)

    def begin() -> None:
        os.nice(_LEAST_PRIORITY)
        end_with_parent()

    return begin


STEPS = "steps"
"""The results folder of the experiments, within the folder of a study."""
NOTE_FILE = "note.md"
_SLIGHTLY_MORE = 1.001


class Asked(msgspec.Struct, kw_only=True, frozen=True):
    """The part that all questions share."""

    options: dict[str, Any]
    """Options of each experiment, as in `slowdust compare`; paths are absolute."""
    workload_sha256: str | None = None
    """Checksum of the user's own workload, if there is one."""

    @property
    def settings(self) -> list[str]:
        """The server settings, KEY=VALUE."""
        return self.options.get("settings") or []

    @property
    def plain_options(self) -> dict[str, Any]:
        """The other options."""
        return {key: value for key, value in self.options.items() if key != "settings"}


@dataclass(frozen=True)
class Order:
    """An experiment that a study needs; it is measured, resumed or only read."""

    spec: Spec
    """The specification, with the experiment's name in the study's results folder."""
    subject: object = None
    """The study's own description of the experiment."""
    extra: Second = 0.0
    """Time to extend it by. If its budget is longer than `extended`, this has begun already."""
    extended: Second = 0.0
    """The budget of the experiment when `extra` was decided."""
    builds: Mapping[int, Spec] = field(default_factory=dict)
    """Place of a contender whose build may be unavailable -> a specification of it alone."""
    ahead: Sequence[str] = ()
    """Contenders that may be needed next: they are built in the background."""


@dataclass(frozen=True)
class Unfit:
    """A contender of an order that cannot be measured."""

    place: int
    """The index among the contenders of the order."""
    reason: str
    error: SlowdustError = field(default_factory=SlowdustError)


_Content = TypeVarTuple("_Content")


def write_document(
    folder: Path, describe: Callable[[*_Content], Document], *content: *_Content
) -> None:
    """Write a document into the folder of a study, as a page and as Markdown."""
    page = blocks.render(describe(*content))
    note = markdown.render(describe(*escaped(content)))
    replace_file(folder / PAGE_FILE, page.encode())
    replace_file(folder / NOTE_FILE, note.encode())


_Question = TypeVar("_Question")
_Record = TypeVar("_Record", bound=Any)
_Outcome = TypeVar("_Outcome")


class Study(ABC, Generic[_Question, _Record, _Outcome]):
    """A question that takes several experiments. It decides; the engine acts."""

    noun: ClassVar[str]
    """Name of the study in messages: 'search'."""
    short_noun: ClassVar[str] = ""
    """Name of the study in progress messages, if it differs."""
    kept: ClassVar[str] = "steps"
    """Name of the results that a stopped study keeps."""
    record_file: ClassVar[str]
    record_type: ClassVar[type[Any]]
    schema: ClassVar[int] = 1
    results: ClassVar[str] = STEPS
    free: ClassVar[Collection[str]] = ()
    """Keys of a question and of its options that may change when the study is resumed."""
    record: _Record

    @abstractmethod
    def begin(self, question: _Question, lab: Lab, say: Progress) -> _Record:
        """Return the record of a new study.

        Raises:
            UsageError: the question is wrong.
            SlowdustError: a build that it needs is not available.
        """

    def resume(self, question: _Question) -> None:
        """Adopt the parts of a question that may differ when a study is resumed."""

    @abstractmethod
    def open(self, folder: Path, say: Progress) -> None:
        """Prepare to decide, with `record` read or new."""

    @abstractmethod
    def next(self) -> Order | None:
        """Return the next experiment, and note it in `record`; None at the end."""

    @abstractmethod
    def learn(self, order: Order, found: Experiment | Unfit) -> None:
        """Note the result of an order in `record`.

        Raises:
            SlowdustError: the study has no answer without the unfit contender.
        """

    @abstractmethod
    def outcome(self) -> _Outcome:
        """Return the answer."""

    @abstractmethod
    def document(self, outcome: _Outcome) -> Document:
        """Return the answer as a document."""

    def conclude(self, outcome: _Outcome, say: Progress) -> None:
        """Act on an answer, after it is written and before the folder is unlocked."""

    def load(
        self, folder: StudyFolder, question: _Question, lab: Lab, say: Progress, *, resumes: bool
    ) -> None:
        """Set `record`: read it if the study is resumed, else begin a new one.

        Raises:
            UsageError: there is nothing to resume, the question differs, or the name is taken.
        """
        if resumes:
            folder.check_resumable()
            self.record = folder.read(self.record_type, self.schema)
            assert isinstance(question, Asked)
            folder.check_same(self.record.question, question, self.free)
            self.resume(question)
        else:
            folder.check_free()
            self.record = self.begin(question, lab, say)
        self.save(folder)

    def save(self, folder: StudyFolder) -> None:
        """Write the record."""
        folder.write(self.record)

    def carry_out(self, order: Order, lab: Lab, results: Path) -> Experiment | Unfit:
        """Measure the missing part of an order."""
        return carry_out(order, lab, results)

    def how_to_resume(self, folder: StudyFolder, error: BaseException) -> str | None:
        """Return a sentence with the command that resumes after an error, if one does."""
        del error
        options = f"--name {folder.name} --resume"
        return f"the {self.kept} are kept; resume with the same command and {options}"


def run_study(
    study: Study[_Question, _Record, _Outcome],
    question: _Question,
    path: Path,
    lab: Lab,
    say: Progress,
    *,
    resumes: bool = False,
) -> _Outcome:
    """Answer a question in the folder `path`: begin or resume it, and write its page and note.

    Raises:
        UsageError: the question is wrong, another process answers it, or there is nothing to
            resume.
        SlowdustError: measuring failed; the measurements so far are kept.
    """
    folder = StudyFolder(path, study.noun, study.record_file)
    with folder.held():
        study.load(folder, question, lab, say, resumes=resumes)
        say(f"{study.short_noun or study.noun} {folder.name} in {path}")
        try:
            _decide(study, folder, lab, say)
        except BaseException as error:
            if (how := study.how_to_resume(folder, error)) is not None:
                say(how)
            raise
        outcome = study.outcome()
        write_document(path, study.document, outcome)
        study.conclude(outcome, say)
        study.save(folder)
    return outcome


def _decide(study: Study[Any, Any, Any], folder: StudyFolder, lab: Lab, say: Progress) -> None:
    """Carry out all orders; the record is on disk before and after each."""
    study.open(folder.path, say)
    ahead = BuildsAhead(folder.path / "builds-ahead.log")
    with closing(ahead):
        while (order := study.next()) is not None:
            study.save(folder)
            ahead.build(order.ahead, order.spec.repo)
            study.learn(order, study.carry_out(order, lab, folder.path / study.results))
            study.save(folder)
    study.save(folder)


def carry_out(order: Order, lab: Lab, results: Path) -> Experiment | Unfit:
    """Measure the missing part of an order; return its experiment.

    Raises:
        SlowdustError: measuring failed, and not because of one contender.
    """
    experiment = Experiment.create_or_open(order.spec, results)
    if not experiment.has_begun:
        for place, alone in order.builds.items():
            if (error := build_error(lab, alone)) is not None:
                return Unfit(place, first_line(str(error)), error)
    try:
        experiment.run(lab)
    except UsageError as error:
        # The error of an option wraps the error of its setting.
        refused = error if isinstance(error, RefusedError) else error.__cause__
        if not isinstance(refused, RefusedError):
            raise
        names = [contender.name for contender in lab.prepare(order.spec)]
        return Unfit(names.index(refused.contender), refused.reason, error)
    if order.extra and experiment.spec.budget <= order.extended * _SLIGHTLY_MORE:
        experiment.extend(lab, experiment.stored.manifest.tests, order.extra)
    return experiment
