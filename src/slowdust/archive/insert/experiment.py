"""An archive of the Insert Benchmark as an experiment of the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from statistics import median

import msgspec

import slowdust
from slowdust.archive.classic import ClassicTable
from slowdust.archive.files import recorded
from slowdust.archive.insert.archive import ArchivedStep, InsertArchive
from slowdust.archive.insert.names import in_order, main_role, rate_of, without_size
from slowdust.archive.insert.steps import StepOfRun, correction, outputs, slice_of
from slowdust.archive.insert.tables import MERGED_TABLES, RUN_TABLE, SEPARATOR, Row
from slowdust.archive.runs import by_version, facts_of, order_of_runs, titles_of, undecoded
from slowdust.exchange import MARGIN, ImportedExperiment, Mode
from slowdust.formats.text import readable
from slowdust.store.manifest import Imported, Manifest, Method
from slowdust.store.measured import PRINTED_SCHEMA
from slowdust.store.slice import Slice
from slowdust.wording import counted

KIND = "iibench"
_US_PER_S = 1_000_000
_LEAST_CPU_US = 20
"""Time per operation below which its rounding hides the number of CPUs."""
_CPU_AS_IT_IS = (
    "CPU and context switches are as in the files: the classic scripts make them about 5% too low, "
    "as they count header lines of vmstat as seconds of no work; in files that Slowdust wrote of "
    "what it measured they are right; contenders among each other are not affected"
)


def experiment_of(
    archive: InsertArchive, name: str, mode: Mode, clients: int | None
) -> ImportedExperiment | None:
    """Make the experiment; return None where nothing in it has a rate.

    `clients` is how many there were, None where the archive has to tell.
    """
    # By version; those of one version as in the widest table.
    widest = max((tables.runs for tables in archive.merged_tables), key=len, default=[])
    titles = titles_of(by_version([*widest, *sorted(archive.runs, key=order_of_runs)]))
    count, source = _clients(archive, clients)
    warnings = [] if source is None else [source]
    slices: list[Slice] = []
    slots: Counter[tuple[str, int]] = Counter()
    for step_name in in_order({step for steps in archive.runs.values() for step in steps}):
        for run, title in titles.items():
            if (step := archive.runs[run].get(step_name)) is None:
                continue
            place = StepOfRun(run, archive.tags[run], step_name, title, step.clients or count)
            if (record := slice_of(place, step, mode)) is None:
                warnings.append(f"{step_name} of {run}: nothing says how fast it was")
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
        for run in archive.runs.values()
        for step_name, step in run.items()
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
    steps = [(name, step) for run in archive.runs.values() for name, step in run.items()]
    if named := Counter(step.clients for _, step in steps if step.clients):
        return named.most_common(1)[0][0], None
    guesses = Counter(
        round(inserts / rate)
        for name, step in steps
        if (rate := rate_of(name)) and step.row and (inserts := step.row.number("ips"))
    )
    guesses.pop(0, None)
    if not guesses:
        return 1, "the number of clients is not known: taken to be 1 (--clients overrides it)"
    count = guesses.most_common(1)[0][0]
    source = (
        f"{counted(count, 'client')}, by the insert rates beside the queries "
        "(--clients overrides it)"
    )
    return count, source


def _differences(archive: InsertArchive) -> list[str]:
    steps = [(name, step) for run in archive.runs.values() for name, step in run.items()]
    ratios = [
        ratio for name, step in steps if (ratio := correction(step, main_role(name))) is not None
    ]
    sentences = []
    if any(ratio != 1 for ratio in ratios):
        sentences.append(
            f"rates are {median(ratios):.3f} times the published in the median of {len(ratios)} "
            f"steps, {min(ratios):.3f} to {max(ratios):.3f}: those are over the time from "
            "before the first client was started, and cut or rounded"
        )
    if empty := sum(step.row is not None and step.row.number("rss") == 0 for _, step in steps):
        sentences.append(
            f"resident size is absent in {counted(empty, 'step')}, where 0.0 was published: "
            "the process listed last was about to end"
        )
    return sentences


def _of_runs(archive: InsertArchive, runs: Iterable[str]) -> Iterator[ClassicTable]:
    """Yield the tables o.sum that were whole, and those of which all sources are there.

    These are o.res and o.ib.
    """
    tables = [(table.tag, table.steps) for table in archive.run_tables]
    whole = {without_size(tag) for tag, _ in tables}
    tables += [
        (archive.tags[run], tuple(in_order(archive.runs[run])))
        for run in runs
        if run not in whole and _can_be_made(archive, run)
    ]
    for tag, names in tables:
        yield ClassicTable(kind=RUN_TABLE, tag=tag, runs=[tag], rows=list(names))


def _can_be_made(archive: InsertArchive, run: str) -> bool:
    """Return whether a run's steps are known; of a damaged table all are needed."""
    steps = list(archive.runs[run].values())
    if run not in archive.table_paths:
        return any(map(_has_sources, steps))
    known = [step for step in steps if step.row_source == RUN_TABLE or _has_sources(step)]
    return len(known) == len(steps) == archive.cut_tables.get(run)


def _has_sources(step: ArchivedStep) -> bool:
    return step.result is not None or bool(outputs(step))


def _merged(archive: InsertArchive, runs: Iterable[str]) -> Iterator[ClassicTable]:
    """Yield those of each directory, with the steps missing in it; without any, one of all."""
    all_steps = in_order({step for run in archive.runs.values() for step in run})
    if not archive.merged_tables:
        yield ClassicTable(kind=MERGED_TABLES, tag="", runs=list(runs), rows=all_steps)
    for tables in archive.merged_tables:
        of_folder = [other for other in archive.merged_tables if other.folder == tables.folder]
        steps = tables.steps
        if tables is max(of_folder, key=lambda other: len(other.steps)):
            there = {step for other in of_folder for step in other.steps}
            for name in (name for name in all_steps if name not in there):
                sources = archive.steps_of(tables.runs, name)
                if any(step.row_source == RUN_TABLE or _has_sources(step) for step in sources):
                    steps = [*steps, name]
        lines: list[str] = []
        for group in tables.groups:
            lines += [*([SEPARATOR] if lines else []), *group]
        yield ClassicTable(
            kind=MERGED_TABLES, tag="", runs=lines, rows=in_order(steps), folder=tables.folder
        )
