"""Archives of sysbench: run directories and their summary tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slowdust.analysis.model import Report
from slowdust.archive.files import Packed
from slowdust.archive.sysbench.arrangement import arrange
from slowdust.archive.sysbench.classic import measured_files, published_files
from slowdust.archive.sysbench.directories import Directory, scan
from slowdust.archive.sysbench.experiment import make_experiment
from slowdust.archive.sysbench.names import parse_file
from slowdust.archive.sysbench.output import ScanRule
from slowdust.archive.sysbench.run_directory import RunDirectory, read_runs, reads
from slowdust.archive.sysbench.summary_tables import is_table
from slowdust.benchmarks import measured_in_steps
from slowdust.benchmarks.sysbench import SYSBENCH
from slowdust.exchange import ForeignKind, ImportedExperiment, Mode, Problem
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from slowdust.temporary import temporary_folder

_NOTHING_BESIDE = "there are neither runs nor rates beside it"
_OWN = re.compile(
    r"(?:sb|qps\.abs|qps\.rel|o\.met|o\.qps\.(?:abs|rel)|join\d+|conf\.diff)(?:\..*)?"
    r"|o\.sum\.\w+\.(?:abs|rel)|met\..+\.txt"
)
_SCAN_RULES = {rule.value.replace(" ", "-"): rule for rule in ScanRule}


class SysbenchKind:
    """Archives of sysbench."""

    name = SYSBENCH.name

    def owns(self, file: str) -> bool:
        return _OWN.fullmatch(file) is not None

    def reads(self, file: str) -> bool:
        name = parse_file(file)
        return is_table(file) if name is None else reads(name)

    def find(
        self, roots: Sequence[Path], mode: Mode, options: Mapping[str, Any], foreign: ForeignKind
    ) -> list[_Candidate]:
        scan_rule = _SCAN_RULES[options["scan"]] if options["scan"] else None
        with temporary_folder() as place:
            directories = scan(roots, foreign, Packed(place))
            # All files are read at once, so that two processes share them.
            names = {path: names for home in directories for path, names in home.runs.items()}
            runs = {run.path: run for run in read_runs(names, options["device"])}
        parts = arrange(directories, runs)
        return [
            _Candidate(
                part, [runs[path] for path in part.runs], mode, scan_rule, options["clients"]
            )
            for part in parts
        ]

    def writes(self, slices: Sequence[Slice]) -> bool:
        return not any(measured_in_steps(record.place.benchmark) for record in slices)

    def files(self, manifest: Manifest, report: Report, slices: Sequence[Slice]) -> dict[Path, str]:
        if manifest.imported is None:
            return measured_files(report, slices)
        return published_files(manifest, slices)


@dataclass(frozen=True)
class _Candidate:
    """A directory of runs or tables."""

    directory: Directory
    runs: list[RunDirectory]
    mode: Mode
    scan_rule: ScanRule | None
    clients: int | None

    @property
    def title(self) -> str | None:
        return None if self.directory.empty else self.directory.name

    @property
    def problems(self) -> list[Problem]:
        alone = [Problem(table.path, _NOTHING_BESIDE) for table in self.directory.tables.joined]
        of_runs = [problem for run in self.runs for problem in run.problems]
        return [*self.directory.problems, *alone, *of_runs]

    @property
    def by_products(self) -> Mapping[str, int]:
        return self.directory.tables.by_products

    def experiment(self, name: str) -> ImportedExperiment | None:
        return make_experiment(
            name,
            self.directory,
            self.runs,
            mode=self.mode,
            scan_rule=self.scan_rule,
            given_clients=self.clients,
        )
