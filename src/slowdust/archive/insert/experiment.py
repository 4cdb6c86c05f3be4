"""Archives of the Insert Benchmark, as experiments of the store.

An archive is the directory with the files o.sum; tables and run directories below belong to it.
Without such files it is the parent of the directories of tables (res.*), or of runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

import slowdust
from slowdust.analysis.model import Report
from slowdust.archive.classic import ClassicTable, Row
from slowdust.archive.files import Visited, recorded, visit
from slowdust.archive.insert.archive import InsertArchive, read_archive
from slowdust.archive.insert.classic import measured_files, published_files
from slowdust.archive.insert.names import (
    FileKind,
    in_order,
    main_role,
    parse_file,
    rate_of,
    without_size,
)
from slowdust.archive.insert.steps import StepOfRun, check_steps, correction, slice_of
from slowdust.archive.insert.tables import MERGED_TABLES, RUN_TABLE, SEPARATOR
from slowdust.archive.runs import by_version, facts_of, order_of_runs, titles_of, undecoded
from slowdust.benchmarks import measured_in_steps
from slowdust.exchange import (
    MARGIN,
    Candidate,
    ForeignKind,
    ImportedExperiment,
    Mode,
    Problem,
    name_experiment,
)
from slowdust.store.manifest import Imported, Manifest, Method
from slowdust.store.measured import PRINTED_SCHEMA
from slowdust.store.slice import Slice
from slowdust.text import readable
from slowdust.wording import counted

KIND = "iibench"
_US_PER_S = 1_000_000
_LEAST_CPU_US = 20
"""Time per operation below which its rounding hides the number of CPUs."""
_CPU_AS_IT_IS = (
    "CPU and context switches are as in the files: the classic scripts make them about 5% too low, "
    "because they count header lines of vmstat as idle seconds; in files that Slowdust wrote from "
    "its own measurements they are right; comparisons between contenders are not affected"
)


def experiment_of(
    archive: InsertArchive, name: str, mode: Mode, clients: int | None
) -> ImportedExperiment | None:
    """Make the experiment; return None if nothing in it has a rate.

    `clients` is the number of clients; None to derive it from the archive.
    """
    # By version; runs of one version as in the widest table.
    widest = max((tables.runs for tables in archive.merged_tables), key=len, default=[])
    titles = titles_of(by_version([*widest, *sorted(archive.runs, key=order_of_runs)]))
    count, source = _clients(archive, clients)
    warnings = [] if source is None else [source]
    slices: list[Slice] = []
    slots: Counter[tuple[str, int]] = Counter()
    for step_name in in_order({name for name, _ in archive.all_steps}):
        for run, title in titles.items():
            if (step := archive.runs[run].get(step_name)) is None:
                continue
            place = StepOfRun(run, archive.tags[run], step_name, title, step.clients or count)
            if (record := slice_of(place, step, mode)) is None:
                warnings.append(f"{step_name} of {run}: its rate is unknown")
                continue
            at = (record.place.test, record.place.clients)
            record.place.slot = slots[at]
            slots[at] += 1
            slices.append(record)
    if any(record.printed and record.printed.per_operation.get("host_cs") for record in slices):
        warnings.append(_CPU_AS_IT_IS)
    if not slices:
        return None
    contenders = [facts_of(run, title) for run, title in titles.items()]
    cpus = [
        cpus
        for step_name, step in archive.all_steps
        if step.row and (cpus := _cpus(step_name, step.row)) is not None
    ]
    manifest = Manifest(
        schema=PRINTED_SCHEMA,
        experiment=name,
        slowdust=slowdust.__version__,
        base=contenders[0].name,
        contenders=contenders,
        tests=list(dict.fromkeys(record.place.test for record in slices)),
        clients=sorted({record.place.clients for record in slices}),
        method=Method(margin=MARGIN, incarnations=1),
        host={"CPUs": f"{median(cpus):.0f}"} if cpus else {},
        warnings=warnings,
        imported=Imported(
            kind=KIND,
            mode=mode.value,
            source=readable(archive.path.name),
            path=readable(str(archive.path.resolve())),
            used=archive.used,
            by_products=dict(archive.by_products),
            skipped=recorded(archive.problems, archive.path),
            tables=msgspec.to_builtins([*_of_runs(archive, titles), *_merged(archive, titles)]),
            differences=_differences(archive) if mode is Mode.CLEAN else [],
        ),
    )
    return ImportedExperiment(manifest, slices, [*undecoded(contenders), *warnings])


def _cpus(name: str, row: Row) -> float | None:
    """Derive the CPUs from CPU time per second, in percent of all, and per operation."""
    speed = row.number("qps" if main_role(name) == "query" else "ips")
    per_operation, percent = row.number("cpupq"), row.number("cpups")
    if not speed or not percent or not per_operation or per_operation < _LEAST_CPU_US:
        return None
    return per_operation * speed / _US_PER_S / (percent / 100)


def _clients(archive: InsertArchive, given: int | None) -> tuple[int, str | None]:
    if given is not None:
        return given, None
    steps = archive.all_steps
    if named := Counter(step.clients for _, step in steps if step.clients):
        return named.most_common(1)[0][0], None
    guesses = Counter(
        round(inserts / rate)
        for name, step in steps
        if (rate := rate_of(name)) and step.row and (inserts := step.row.number("ips"))
    )
    guesses.pop(0, None)
    if not guesses:
        return 1, "the number of clients is unknown and assumed to be 1 (--clients overrides it)"
    count = guesses.most_common(1)[0][0]
    source = (
        f"{counted(count, 'client')}, derived from the insert rates during the queries "
        "(--clients overrides it)"
    )
    return count, source


def _differences(archive: InsertArchive) -> list[str]:
    steps = archive.all_steps
    ratios = [
        ratio for name, step in steps if (ratio := correction(step, main_role(name))) is not None
    ]
    sentences = []
    if any(ratio != 1 for ratio in ratios):
        sentences.append(
            f"rates are {median(ratios):.3f} times the published rates in the median of "
            f"{len(ratios)} steps ({min(ratios):.3f} to {max(ratios):.3f}): published rates are "
            "over a time that begins before the first client does, and are truncated or rounded"
        )
    if empty := sum(step.row is not None and step.row.number("rss") == 0 for _, step in steps):
        sentences.append(
            f"resident size is absent in {counted(empty, 'step')} with a published size of 0.0: "
            "the process listed last was exiting"
        )
    return sentences


def _of_runs(archive: InsertArchive, runs: Iterable[str]) -> Iterator[ClassicTable]:
    """Yield the complete tables o.sum, and those with all of their sources, o.res and o.ib.

    For a damaged table, all steps are needed.
    """
    tables = dict(archive.run_tables)
    whole = {without_size(tag) for tag in tables}
    for run in (run for run in runs if run not in whole):
        steps = list(archive.runs[run].values())
        there = [step.has_sources or step.row_source == RUN_TABLE for step in steps]
        if run not in archive.table_paths:
            can_be_made = any(step.has_sources for step in steps)
        else:
            can_be_made = all(there) and len(steps) == archive.cut_tables.get(run)
        if can_be_made:
            tables[archive.tags[run]] = tuple(in_order(archive.runs[run]))
    for tag, names in tables.items():
        yield ClassicTable(kind=RUN_TABLE, tag=tag, runs=[tag], rows=list(names))


def _merged(archive: InsertArchive, runs: Iterable[str]) -> Iterator[ClassicTable]:
    """Yield the tables of each directory, with steps that it lacks; without any, one of all
    steps."""
    all_steps = in_order({name for name, _ in archive.all_steps})
    if not archive.merged_tables:
        yield ClassicTable(kind=MERGED_TABLES, tag="", runs=list(runs), rows=all_steps)
    for tables in archive.merged_tables:
        of_folder = [other for other in archive.merged_tables if other.folder == tables.folder]
        steps = tables.steps
        if tables is max(of_folder, key=lambda other: len(other.steps)):
            there = {step for other in of_folder for step in other.steps}
            for name in (name for name in all_steps if name not in there):
                sources = archive.steps_of(tables.runs, name)
                if any(step.row_source == RUN_TABLE or step.has_sources for step in sources):
                    steps = [*steps, name]
        lines: list[str] = []
        for group in tables.groups:
            lines += [*([SEPARATOR] if lines else []), *group]
        yield ClassicTable(
            kind=MERGED_TABLES, tag="", runs=lines, rows=in_order(steps), folder=tables.folder
        )


_OF_A_STEP = (FileKind.CLIENT, FileKind.RESULT, FileKind.RESPONSE)
_OF_A_TABLE = (FileKind.MERGED, FileKind.SELECTED, FileKind.RELATIVE, FileKind.MERGED_RESPONSE)


class InsertKind:
    """Archives of the Insert Benchmark."""

    name = KIND

    def owns(self, file: str) -> bool:
        return parse_file(file) is not None

    def reads(self, file: str) -> bool:
        name = parse_file(file)
        return name is not None and name.kind not in (FileKind.SELECTION, FileKind.BY_PRODUCT)

    def find(
        self, roots: Sequence[Path], mode: Mode, options: Mapping[str, Any], foreign: ForeignKind
    ) -> list[Candidate]:
        candidates = []
        for files in scan(roots):
            archive = read_archive(files.home or files.root, files.paths, foreign)
            archive.problems = [*check_steps(archive, mode), *files.problems]
            title = None if files.home is None else name_experiment(files.home, files.root)
            make = partial(experiment_of, archive, mode=mode, clients=options["clients"])
            candidates.append(Candidate(title, make, archive))
        return candidates

    def writes(self, slices: Sequence[Slice]) -> bool:
        return any(measured_in_steps(record.place.benchmark) for record in slices)

    def files(self, manifest: Manifest, report: Report, slices: Sequence[Slice]) -> dict[Path, str]:
        if manifest.imported is None:
            return measured_files(manifest, report, slices)
        return published_files(manifest, slices)


@dataclass
class ArchiveFiles:
    """The files of an archive, or files outside of archives."""

    root: Path
    """The directory given to the import."""
    home: Path | None
    """The archive's directory; None for files outside of archives."""
    paths: list[Path] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    """Problems of everything that cannot be read."""


def scan(roots: Iterable[Path]) -> list[ArchiveFiles]:
    visited: dict[Path, list[Visited]] = {}
    for root, folder, _ in visit(roots):
        visited.setdefault(root, []).append(folder)
    return [files for root, folders in visited.items() for files in _archives(root, folders)]


def _archives(root: Path, folders: Sequence[Visited]) -> Iterable[ArchiveFiles]:
    files = [folder.path / name for folder in folders for name in folder.names]
    homes, with_runs = set(), set()
    for file in files:
        name = parse_file(file.name)
        kind, above = name.kind if name else None, file.parent
        candidates: Iterable[Path] = ()
        if kind is FileKind.RUN:
            candidates = [above]
            with_runs.add(above)
        elif kind in _OF_A_TABLE:
            # Directories of tables are named res.*
            candidates = (above.parent if above.name.startswith("res") else above, above)
        elif kind in _OF_A_STEP:
            candidates = reversed(file.parents[:3])
        homes |= {*[path for path in candidates if path == root or root in path.parents][:1]}
    kept = {home for home in homes if home in with_runs or homes.isdisjoint(home.parents)}
    archives: dict[Path | None, ArchiveFiles] = {
        home: ArchiveFiles(root, home) for home in sorted(kept)
    }

    def nearest(path: Path) -> ArchiveFiles:
        home = next((folder for folder in path.parents if folder in kept), None)
        return archives.setdefault(home, ArchiveFiles(root, home))

    for file in files:
        nearest(file).paths.append(file)
    for problem in (problem for folder in folders for problem in folder.problems):
        nearest(problem.path).problems.append(problem)
    return archives.values()
