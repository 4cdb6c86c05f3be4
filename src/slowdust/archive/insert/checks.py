"""Steps of an Insert Benchmark whose files are not all there, or contradict each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

from slowdust.archive.importing import Mode
from slowdust.archive.insert.archive import ArchivedStep, InsertArchive
from slowdust.archive.insert.rates import outputs, rate_with_source
from slowdust.archive.problems import Cell, Problem, differing
from slowdust.formats.insert.names import FileKind, main_role, parse_file
from slowdust.formats.insert.tables import RUN_TABLE
from slowdust.formats.text import number_of
from slowdust.store.manifest import Fate

_ALIKE = 0.02
"""The part by which counts of clients and of o.res may differ: o.res has the rows asked for."""
ByPath = dict[Path, Problem]
"""File -> its problem."""


def check_steps(archive: InsertArchive, mode: Mode) -> list[Problem]:
    """Return the problems of the archive and of its steps: one line for each client's file."""
    of_clients = {problem.path: problem for problem in archive.problems if _is_client(problem.path)}
    others = [problem for problem in archive.problems if not _is_client(problem.path)]
    for run in archive.runs.values():
        for name, step in run.items():
            if step.outputs:
                source = _source(name, step, mode)
                _add_damage(step, source, of_clients)
                _add_missing(step, source, of_clients)
                if step.result_path is not None:
                    cells = _counts(name, step)
                    others += differing(step.result_path, cells, "o.ib of all clients")
    for run_name, table in archive.table_paths.items():
        steps = archive.runs[run_name]
        cells = (cell for name, step in steps.items() for cell in _published(name, step))
        others += differing(table, cells, "o.res")
    return [*others, *of_clients.values()]


def _is_client(path: Path) -> bool:
    name = parse_file(path.name)
    return name is not None and name.kind is FileKind.CLIENT


def _source(name: str, step: ArchivedStep, mode: Mode) -> str:
    """Return the source of the step's rates, in words."""
    rate = rate_with_source(step, main_role(name), mode)
    return "the step is left out" if rate is None else f"rates are {rate.source}"


def _add_damage(step: ArchivedStep, source: str, problems: ByPath) -> None:
    for number, output in step.outputs.items():
        reasons = output.damage if output.ended else ("the client did not come to its end",)
        if reasons:
            path = step.client_paths[number]
            problems[path] = Problem(path, f"{'; '.join(reasons)}: {source}", Fate.PARTLY)


def _add_missing(step: ArchivedStep, source: str, problems: ByPath) -> None:
    """Add one line for all missing clients of a step: that of the first of them."""
    clients = step.clients or 0
    missing = clients - len(step.outputs)
    if missing <= 0:
        return
    number = next(number for number in count(1) if number not in step.outputs)
    beside = next(iter(step.client_paths.values()))
    plain = beside.with_name(f"o.ib.dop{clients}.{number}")
    path = next((path for path in (plain, Path(f"{plain}.gz")) if path in problems), plain)
    known = problems.get(path, Problem(path, "it is not there"))
    more = f", nor is anything of {missing - 1} more of {clients} clients" if missing > 1 else ""
    problems[path] = replace(known, reason=f"{known.reason}{more}: {source}")


def _counts(name: str, step: ArchivedStep) -> Iterator[Cell]:
    """Compare the counts of o.res with the sums of those of all clients."""
    clients = [output.roles for output in outputs(step) if not output.damage]
    if step.result is None or not clients or len(clients) < len(outputs(step)):
        return
    counts = {"queries": ("query", step.result.queries)}
    if main_role(name) == "insert":
        counts["rows inserted"] = ("insert", step.result.rows)
    for what, (role, there) in counts.items():
        total = sum(roles[role].total for roles in clients)
        if there is not None and abs(there - total) > _ALIKE * max(there, total):
            yield what, str(there), str(total)


def _published(name: str, step: ArchivedStep) -> Iterator[Cell]:
    """Compare the rates of o.sum with those of o.res, which it may cut or round."""
    if step.result is None or step.row is None or step.row_source != RUN_TABLE:
        return
    for column, printed in (("ips", step.result.ips), ("qps", step.result.qps)):
        there, source = step.row.number(column), number_of(printed or "")
        if printed and there is not None and source is not None and abs(there - source) > 1:
            yield f"{column} of {name}", step.row[column], printed
