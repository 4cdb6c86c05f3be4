"""Steps of an Insert Benchmark whose files are not all there, or contradict each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

from slowdust.archive.insert.archive import ArchivedStep, IbenchArchive
from slowdust.archive.insert.rates import found_rate, outputs
from slowdust.archive.problems import Problem
from slowdust.archive.sysbench.checks import Cell, differing
from slowdust.archive.sysbench.choices import Mode
from slowdust.formats.insert.names import FileKind, main_role, parse_file
from slowdust.formats.insert.tables import RUN_TABLE
from slowdust.formats.text import number_of
from slowdust.store.manifest import Fate

_ALIKE = 0.02
"""Part by which what the clients count and what o.res counts may differ: it counts the rows that
were asked for."""
Told = dict[Path, Problem]
"""File -> its line."""


def check_steps(archive: IbenchArchive, mode: Mode) -> list[Problem]:
    """The archive's problems with those of its steps: of clients there is one line for each."""
    told = {problem.path: problem for problem in archive.problems if _is_client(problem.path)}
    others = [problem for problem in archive.problems if not _is_client(problem.path)]
    for run in archive.runs.values():
        for name, step in run.items():
            if step.outputs:
                source = _source(name, step, mode)
                _tell_damage(step, source, told)
                _tell_missing(step, source, told)
                others += _differing_result(name, step)
    for table, steps in ((table, archive.runs[run]) for run, table in archive.table_paths.items()):
        cells = (cell for name, step in steps.items() for cell in _published(name, step))
        others += differing(table, cells, "o.res")
    return [*others, *told.values()]


def _is_client(path: Path) -> bool:
    said = parse_file(path.name)
    return said is not None and said.kind is FileKind.CLIENT


def _source(name: str, step: ArchivedStep, mode: Mode) -> str:
    """Where the rates are from."""
    found = found_rate(step, main_role(name), mode)
    return "the step is left out" if found is None else f"rates are {found.source}"


def _tell_damage(step: ArchivedStep, source: str, told: Told) -> None:
    for number, output in step.outputs.items():
        reasons = output.damage if output.ended else ("the client did not come to its end",)
        if reasons:
            path = step.client_paths[number]
            told[path] = Problem(path, f"{'; '.join(reasons)}: {source}", Fate.PARTLY)


def _tell_missing(step: ArchivedStep, source: str, told: Told) -> None:
    """One line for all clients of a step: that of the first of which there is nothing."""
    clients = step.clients or 0
    missing = clients - len(step.outputs)
    if missing <= 0:
        return
    number = next(number for number in count(1) if number not in step.outputs)
    beside = next(iter(step.client_paths.values()))
    plain = beside.with_name(f"o.ib.dop{clients}.{number}")
    path = next((one for one in (plain, Path(f"{plain}.gz")) if one in told), plain)
    known = told.get(path, Problem(path, "it is not there"))
    more = f", nor is anything of {missing - 1} more of {clients} clients" if missing > 1 else ""
    told[path] = replace(known, reason=f"{known.reason}{more}: {source}")


def _differing_result(name: str, step: ArchivedStep) -> Iterator[Problem]:
    """What o.res says is the sum of what all of the clients say."""
    if step.result_path is not None:
        yield from differing(step.result_path, _counts(name, step), "o.ib of all clients")


def _counts(name: str, step: ArchivedStep) -> Iterator[Cell]:
    clients = [one.courses.of_roles for one in outputs(step) if not one.damage]
    if step.result is None or not clients or len(clients) < len(outputs(step)):
        return
    counts = {"queries": ("query", step.result.queries)}
    if main_role(name) == "insert":
        counts["rows inserted"] = ("insert", step.result.rows)
    for what, (role, there) in counts.items():
        made = sum(roles[role].total for roles in clients)
        if there is not None and abs(there - made) > _ALIKE * max(there, made):
            yield what, str(there), str(made)


def _published(name: str, step: ArchivedStep) -> Iterator[Cell]:
    """The rates of o.sum are those of o.res, which it may cut or round."""
    if step.result is None or step.row is None or step.row_source != RUN_TABLE:
        return
    for column, made in (("ips", step.result.ips), ("qps", step.result.qps)):
        there, source = step.row.number(column), number_of(made or "")
        if made and there is not None and source is not None and abs(there - source) > 1:
            yield f"{column} of {name}", step.row[column], made
