"""`slowdust calibrate` as a study: compares each contender with itself, unchanged and slowed.

The experiments are in the results folder under their own names, and have all that the study needs.
So there is no record, and experiments that were begun without the study can be resumed too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slowdust.analysis.calibration import calibration_of
from slowdust.analysis.model import Calibration
from slowdust.builds.model import Progress
from slowdust.errors import SlowdustError
from slowdust.experiment import host_calibrations
from slowdust.experiment.experiment import PAGE_FILE, Experiment, Lab
from slowdust.experiment.run_estimate import estimate_run
from slowdust.experiment.spec.spec import Spec
from slowdust.report.calibration import section
from slowdust.report.document import Document, text
from slowdust.store.study_folder import StudyFolder
from slowdust.studies.engine import Order, Study, Unfit

FOLDER = "calibrations"
"""The folder of the pages of calibrations, in the results folder."""


@dataclass(frozen=True)
class Question:
    """The experiments of a calibration."""

    name: str
    specs: Sequence[Spec]
    results: Path


class Calibrating(Study[Question, None, list[Calibration]]):
    """Calibrates a host, or a fleet, with one contender after the other."""

    noun = "calibration"
    kept = "slices"
    record_file = PAGE_FILE
    code = 0
    """The exit code of the worst experiment."""

    def begin(self, question: Question, lab: Lab, say: Progress) -> None:
        """Fetch all builds before the first experiment."""
        del say
        for spec in question.specs:
            lab.prepare(spec)

    def load(
        self, folder: StudyFolder, question: Question, lab: Lab, say: Progress, *, resumes: bool
    ) -> None:
        """Take the experiments as they are; the first one fails if its name is taken."""
        del folder
        self._question, self._resumes = question, resumes
        self.begin(question, lab, say)

    def save(self, folder: StudyFolder) -> None:
        """Do nothing: the experiments have the measurements."""

    def open(self, folder: Path, say: Progress) -> None:
        """Begin with the first contender."""
        del folder
        self._say, self._left = say, [*self._question.specs]
        self._found: list[Calibration] = []

    def next(self) -> Order | None:
        """Return the next experiment."""
        return Order(self._left.pop(0)) if self._left else None

    def carry_out(self, order: Order, lab: Lab, results: Path) -> Experiment | Unfit:
        """Measure an experiment, or the rest of it; one that fails does not stop the others."""
        results, spec = self._question.results, order.spec
        experiment = Experiment.create(spec, results)
        if self._resumes and experiment.has_begun:
            experiment = Experiment.open(experiment.folder)
            if experiment.stored.manifest.finished is None:
                experiment = experiment.with_spec(spec)
        before = experiment.folder.read_manifest() if experiment.has_begun else None
        self._say(f"experiment {spec.name} in {experiment.folder.path}")
        if before is None or before.finished is None:
            self._say(str(estimate_run(spec, results, before)))
        try:
            experiment.run(lab)
        except SlowdustError as error:
            return Unfit(0, str(error), error)
        return experiment

    def learn(self, order: Order, found: Experiment | Unfit) -> None:
        """Store the calibration of this host; a fleet's hosts store their own."""
        if isinstance(found, Unfit):
            self._say(f"slowdust: {order.spec.name}: {found.error}")
            self.code = max(self.code, found.error.exit_code)
            return
        manifest = found.stored.manifest
        calibration = calibration_of(manifest, found.stored.slices)
        if manifest.finished is None or any(each.failed for each in manifest.contenders):
            self.code = max(self.code, 1)
        if calibration is not None:
            self._found.append(calibration)
            if not manifest.hosts:
                host_calibrations.keep(manifest, calibration)
        found.write_page()

    def outcome(self) -> list[Calibration]:
        """Return the calibrations of all contenders."""
        return self._found

    def document(self, outcome: Sequence[Calibration]) -> Document:
        """Return the tables of all contenders in one document."""
        shown = [section(outcome)] if outcome else [text("Nothing was measured.")]
        return Document(title=f"Calibration {self._question.name}", blocks=shown)

    def how_to_resume(self, folder: StudyFolder, error: BaseException) -> str | None:
        """Return the command that resumes; None if nothing was measured yet."""
        begun = any(
            Experiment.create(spec, self._question.results).has_begun
            for spec in self._question.specs
        )
        return super().how_to_resume(folder, error) if begun else None
