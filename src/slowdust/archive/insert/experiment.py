"""An archive of the Insert Benchmark as an experiment of the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median

import slowdust
from slowdust.archive.contenders import facts_of, titles_of, undecoded
from slowdust.archive.importing import MARGIN, ArchivedExperiment, Mode
from slowdust.archive.insert.archive import ArchivedStep, InsertArchive, MergedTables
from slowdust.archive.insert.rates import correction, outputs
from slowdust.archive.insert.slices import StepOfRun, slice_of
from slowdust.archive.problems import recorded
from slowdust.benchmarks.archived import IIBENCH
from slowdust.formats.insert.names import in_order, main_role, rate_of, without_size
from slowdust.formats.insert.tables import MERGED_TABLES, RUN_TABLE, SEPARATOR, Row
from slowdust.formats.sysbench.names import by_version, order_of_runs
from slowdust.formats.text import readable
from slowdust.store.manifest import ArchivedTable, Imported, Manifest, Method
from slowdust.store.slice import SCHEMA, Slice
from slowdust.wording import counted

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
) -> ArchivedExperiment | None:
    """Make the experiment; return None where nothing in it has a rate.

    `clients` is how many there were, None where the archive has to tell.
    """
    titles = titles_of(_runs_in_order(archive))
    warnings = []
    count, source = _clients(archive, clients)
    if source is not None:
        warnings.append(source)
    slices = []
    for place, step in _places(archive, titles, count):
        record = slice_of(place, step, mode)
        if record is None:
            warnings.append(f"{place.step} of {place.run}: nothing says how fast it was")
        else:
            slices.append(record)
    if any(record.archived and record.archived.per_operation.get("host_cs") for record in slices):
        warnings.append(_CPU_AS_IT_IS)
    if not slices:
        return None
    tests = list(dict.fromkeys(record.place.test for record in slices))
    contenders = [facts_of(run, title) for run, title in titles.items()]
    manifest = Manifest(
        schema=SCHEMA,
        experiment=name,
        slowdust=slowdust.__version__,
        base=next(iter(titles.values())),
        contenders=contenders,
        tests=tests,
        clients=sorted({record.place.clients for record in slices}),
        method=Method(margin=MARGIN, incarnations=1),
        host=_host(archive),
        warnings=warnings,
        imported=_imported(archive, list(titles), mode),
    )
    _number_the_slots(slices)
    return ArchivedExperiment(manifest, slices, [*undecoded(contenders), *warnings])


def _places(
    archive: InsertArchive, titles: Mapping[str, str], clients: int
) -> Iterator[tuple[StepOfRun, ArchivedStep]]:
    """Return the steps, contender by contender; `clients` is for those that do not tell."""
    for name in in_order({step for steps in archive.runs.values() for step in steps}):
        for run, title in titles.items():
            step = archive.runs[run].get(name)
            if step is not None:
                count = step.clients or clients
                yield StepOfRun(run, archive.tags[run], name, title, count), step


def _runs_in_order(archive: InsertArchive) -> list[str]:
    """Return the runs by version; those of one version as in the widest table."""
    widest = max((tables.runs for tables in archive.merged_tables), key=len, default=[])
    return by_version([*widest, *sorted(archive.runs, key=order_of_runs)])


def _clients(archive: InsertArchive, given: int | None) -> tuple[int, str | None]:
    """Return the number of clients, and a sentence on its source."""
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


def _host(archive: InsertArchive) -> dict[str, str]:
    """Derive the CPUs from CPU time per second, in percent of all, and per operation."""
    counts = [
        cpus
        for run in archive.runs.values()
        for name, step in run.items()
        if step.row and (cpus := _cpus(name, step.row)) is not None
    ]
    return {"CPUs": f"{median(counts):.0f}"} if counts else {}


def _cpus(name: str, row: Row) -> float | None:
    speed = row.number("qps" if main_role(name) == "query" else "ips")
    per_operation, percent = row.number("cpupq"), row.number("cpups")
    if not speed or not percent or not per_operation or per_operation < _LEAST_CPU_US:
        return None
    return per_operation * speed / _US_PER_S / (percent / 100)


def _imported(archive: InsertArchive, runs: Sequence[str], mode: Mode) -> Imported:
    return Imported(
        kind=IIBENCH,
        mode=mode.value,
        source=readable(archive.path.name),
        path=readable(str(archive.path.resolve())),
        used=archive.used,
        by_products=dict(archive.by_products),
        skipped=recorded(archive.problems, archive.path),
        tables=_classic_tables(archive, runs),
        differences=_differences(archive) if mode is Mode.CLEAN else [],
    )


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


def _number_the_slots(slices: list[Slice]) -> None:
    placed: Counter[tuple[str, int]] = Counter()
    for record in slices:
        record.place.slot = placed[record.place.test, record.place.clients]
        placed[record.place.test, record.place.clients] += 1


def _classic_tables(archive: InsertArchive, runs: Sequence[str]) -> list[ArchivedTable]:
    """Return the tables that can be written, of which `runs` has the runs in their order.

    They are those that the archive has, and those that can be made of what it has: o.sum of a
    run's o.res and o.ib, mrg and all that follows of o.sum.
    """
    return [*_of_runs(archive, runs), *_merged(archive, runs)]


def _of_runs(archive: InsertArchive, runs: Sequence[str]) -> Iterator[ArchivedTable]:
    """Yield the tables that were whole, and those of which all sources are there."""
    tables = [(table.tag, table.steps) for table in archive.run_tables]
    whole = {without_size(tag) for tag, _ in tables}
    tables += [
        (archive.tags[run], tuple(in_order(archive.runs[run])))
        for run in runs
        if run not in whole and _can_be_made(archive, run)
    ]
    for tag, names in tables:
        yield ArchivedTable(kind=RUN_TABLE, tag=tag, runs=[tag], rows=list(names))


def _can_be_made(archive: InsertArchive, run: str) -> bool:
    """Return whether a run's steps are known; of a damaged table all are needed."""
    steps = list(archive.runs[run].values())
    if run not in archive.table_paths:
        return any(map(_has_sources, steps))
    known = [step for step in steps if step.row_source == RUN_TABLE or _has_sources(step)]
    return len(known) == len(steps) == archive.cut_tables.get(run)


def _has_sources(step: ArchivedStep) -> bool:
    return step.result is not None or bool(outputs(step))


def _merged(archive: InsertArchive, runs: Sequence[str]) -> Iterator[ArchivedTable]:
    """Yield those of each directory, with the steps missing in it; without any, one of all."""
    all_steps = in_order({step for run in archive.runs.values() for step in run})
    if not archive.merged_tables:
        yield ArchivedTable(kind=MERGED_TABLES, tag="", runs=list(runs), rows=all_steps)
    for tables in archive.merged_tables:
        of_folder = [other for other in archive.merged_tables if other.folder == tables.folder]
        steps = tables.steps
        if tables is max(of_folder, key=lambda other: len(other.steps)):
            there = {step for other in of_folder for step in other.steps}
            missing = [step for step in all_steps if step not in there]
            steps = [*steps, *(step for step in missing if _has_source(archive, tables, step))]
        yield ArchivedTable(
            kind=MERGED_TABLES,
            tag="",
            runs=_joined(tables.groups),
            rows=in_order(steps),
            folder=tables.folder,
        )


def _has_source(archive: InsertArchive, tables: MergedTables, name: str) -> bool:
    steps = archive.steps_of(tables.runs, name)
    return any(step.row_source == RUN_TABLE or _has_sources(step) for step in steps)


def _joined(groups: Iterable[Iterable[str]]) -> list[str]:
    """Join groups as the lines of a file have them: with a lone `-` between them."""
    joined: list[str] = []
    for group in groups:
        joined += [SEPARATOR] if joined else []
        joined += group
    return joined
