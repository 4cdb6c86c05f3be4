"""A step of an archived Insert Benchmark: its rate, slice, line of o.sum and contradictions.

The published rates are rows or queries over whole seconds of a clock that ran since before the
first client was started, cut after one decimal or rounded to integers. The clients' own rows (o.ib)
have neither error; o.res has counts, so at least nothing is cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from math import ceil
from pathlib import Path

import numpy as np

from slowdust.archive.classic import Classic, Row
from slowdust.archive.files import Cell, differing
from slowdust.archive.insert.archive import ArchivedStep, InsertArchive
from slowdust.archive.insert.names import FileKind, main_role, parse_file, rate_of
from slowdust.archive.insert.tables import (
    ROLES,
    RUN_TABLE,
    ClientOutput,
    StepResult,
    rate_kept,
    row_of_values,
)
from slowdust.benchmarks.insert import INSERT
from slowdust.exchange import Mode, Problem
from slowdust.store.latency import LatencyUs
from slowdust.store.manifest import Fate
from slowdust.store.measured import Measured, Printed, PrintedRole, Use
from slowdust.store.slice import Place, Slice
from slowdust.store.step import RoleSecond, RoleUse, StepDetail
from slowdust.text import number_of
from slowdust.units import known, present

_OF_RESULT = "from o.res"
_COUNTS_ALIKE = 0.02
"""Allowed difference between counts of clients and of o.res, which has the requested rows."""
_US_PER_S = 1e6
_NS_PER_US = 1000
_KB_PER_MB = 1024
_KB_PER_GB = 1 << 20
_BYTES_PER_GB = 1 << 30
_ABOUT_A_SECOND = (0.9, 1.1)
"""Mean interval of rows that count as seconds."""
_UNKNOWN_UNIT = "operations/s"
_LOOP_OF_2024 = re.compile(r"\.L\d{1,9}$")
_COLUMN_OF_ROLE = {"insert": "ips", "index": "ips", "query": "qps"}

StepRate = tuple[float, str]
"""The rate of a step in one role, per second, and its source in words."""


def rate_with_source(step: ArchivedStep, role: str, mode: Mode) -> StepRate | None:
    """Return rows per second of `insert`, `index` or `delete`, or queries per second of `query`.

    None if no file has the rate.
    """
    published = _published(step, role)
    clean = _clean(step, role)
    return published or clean if mode is Mode.COMPAT else clean or published


def rate(step: ArchivedStep, role: str, mode: Mode) -> float | None:
    sourced = rate_with_source(step, role, mode)
    return None if sourced is None else sourced[0]


def correction(step: ArchivedStep, role: str) -> float | None:
    """Return the clean rate / the published rate; None unless both are known."""
    clean, published = rate(step, role, Mode.CLEAN), _published(step, role)
    return clean / published[0] if clean and published and published[0] else None


def _published(step: ArchivedStep, role: str) -> StepRate | None:
    if (column := _COLUMN_OF_ROLE.get(role)) is None:
        return None
    if step.row is not None:
        per_second, source = step.row.number(column), "as published"
    elif step.result is not None:
        printed = step.result.ips if column == "ips" else step.result.qps
        per_second, source = number_of(printed or ""), _OF_RESULT
    else:
        return None
    return None if per_second is None else (per_second, source)


def _clean(step: ArchivedStep, role: str) -> StepRate | None:
    """Return the rate from the counts of the clients, or else of o.res."""
    if role in ROLES:
        counted = [(each.roles[role].total, each.elapsed) for each in step.whole_outputs]
        if rates := [total / elapsed for total, elapsed in counted if total and elapsed]:
            return sum(rates), "from its counts since the beginning"
    result = step.result
    if result is None or not result.seconds:
        return None
    if role in ("insert", "index"):
        return result.rows / result.seconds, _OF_RESULT
    if role == "query" and result.queries is not None:
        return result.queries / result.seconds, _OF_RESULT
    return None


def check_steps(archive: InsertArchive, mode: Mode) -> list[Problem]:
    """Return the problems of the archive and of its steps, with one line for each client's file."""
    of_clients: dict[Path, Problem] = {}
    others = []
    for problem in archive.problems:
        file = parse_file(problem.path.name)
        if file is not None and file.kind is FileKind.CLIENT:
            of_clients[problem.path] = problem
        else:
            others.append(problem)
    for name, step in archive.all_steps:
        if step.outputs:
            sourced = rate_with_source(step, main_role(name), mode)
            source = f"rates are {sourced[1]}" if sourced else "the step is skipped"
            _add_problems_of_clients(step, source, of_clients)
            if step.result_path is not None:
                others += differing(step.result_path, _counts(name, step), "o.ib of all clients")
    for run_name, table in archive.table_paths.items():
        steps = archive.runs[run_name]
        published = (cell for name, step in steps.items() for cell in _published_cells(name, step))
        others += differing(table, published, "o.res")
    return [*others, *of_clients.values()]


def _add_problems_of_clients(
    step: ArchivedStep, source: str, problems: dict[Path, Problem]
) -> None:
    """Add one line for each damaged file, and one for all missing files."""
    for number, output in step.outputs.items():
        reasons = output.damage if output.ended else ("the client did not finish",)
        if reasons:
            path = step.client_paths[number]
            problems[path] = Problem(path, f"{'; '.join(reasons)}: {source}", Fate.PARTLY)
    clients = step.clients or 0
    missing = clients - len(step.outputs)
    if missing <= 0:
        return
    number = next(number for number in count(1) if number not in step.outputs)
    sibling = next(iter(step.client_paths.values()))
    plain = sibling.with_name(f"o.ib.dop{clients}.{number}")
    path = next((path for path in (plain, Path(f"{plain}.gz")) if path in problems), plain)
    problem = problems.get(path, Problem(path, "it is missing"))
    more = f", like the output of {missing - 1} more of {clients} clients" if missing > 1 else ""
    problems[path] = replace(problem, reason=f"{problem.reason}{more}: {source}")


def _counts(name: str, step: ArchivedStep) -> Iterator[Cell]:
    clients = step.whole_outputs
    if step.result is None or not clients or any(output.damage for output in clients):
        return
    counts = {"queries": ("query", step.result.queries)}
    if main_role(name) == "insert":
        counts["rows inserted"] = ("insert", step.result.rows)
    for what, (role, there) in counts.items():
        total = sum(output.roles[role].total for output in clients)
        if there is not None and abs(there - total) > _COUNTS_ALIKE * max(there, total):
            yield what, str(there), str(total)


def _published_cells(name: str, step: ArchivedStep) -> Iterator[Cell]:
    if step.result is None or step.row is None or step.row_source != RUN_TABLE:
        return
    for column, printed in (("ips", step.result.ips), ("qps", step.result.qps)):
        there, source = step.row.number(column), number_of(printed or "")
        if printed and there is not None and source is not None and abs(there - source) > 1:
            yield f"{column} of {name}", step.row[column], printed


@dataclass(frozen=True)
class StepOfRun:
    """The step of a slice."""

    run: str
    """The run's name in the archive."""
    tag: str
    """The run's name in its tables, which may include its size."""
    step: str
    """The step's name in the archive."""
    contender: str
    clients: int


def slice_of(place: StepOfRun, step: ArchivedStep, mode: Mode) -> Slice | None:
    name, row, result = place.step, step.row, step.result
    main = main_role(name)
    outputs = step.whole_outputs
    # The time of the slowest client, or else of the script that started all clients.
    of_clients = max((output.elapsed for output in outputs), default=None)
    roles: dict[str, RoleUse] = {}
    for role in [main] if main == "index" else dict.fromkeys((main, "insert", "delete")):
        if (speed := rate(step, role, mode)) is not None:
            response, buckets = _response(role, main, step)
            roles[role] = RoleUse(
                connections=place.clients,
                seconds=of_clients,
                per_second=_per_second(role, outputs),
                printed=PrintedRole(rate=speed, response=response, buckets=buckets),
            )
    if main not in roles or (of_main := roles[main].printed) is None:
        return None
    test = _LOOP_OF_2024.sub("", name)  # Slowdust calls `qr100.L1` `qr100`
    definition = INSERT.test(test)
    target = rate_of(name)
    per_operation: dict[str, float] = {}
    if of_main.rate and row is not None:
        per_operation = _per_operation_of_row(main, row, of_main.rate)
    elif of_main.rate and result is not None:
        per_operation = _per_operation_of_result(main, result)
    uses: dict[str, Use] = {}
    resident = row.number("rss") if row else None
    # A Postgres process that is exiting has a size of 0.
    if resident is not None and (resident or mode is Mode.COMPAT):
        uses["server"] = {"rss_bytes": round(resident * _BYTES_PER_GB)}
    size = row.number("dbgb1") if row else None
    if size is None and result is not None:
        size = result.database_gb
    made = row or _made_row(place, step)
    return Slice(
        place=Place(
            benchmark=INSERT.name, test=test, clients=place.clients, contender=place.contender
        ),
        qps=of_main.rate,
        unit=definition.unit if definition else _UNKNOWN_UNIT,
        measured=Measured(seconds=of_clients or (result.seconds if result else None), uses=uses),
        printed=Printed(
            response=of_main.response,
            per_operation=per_operation,
            texts=Classic(
                run=place.run, file=name, table_row=[*made.cells, made.run] if made else None
            ).texts,
        ),
        step=StepDetail(
            roles=roles,
            target=None if target is None else float(target * place.clients),
            data_bytes=None if size is None else round(size * _BYTES_PER_GB),
        ),
    )


def _response(
    role: str, main: str, step: ArchivedStep
) -> tuple[LatencyUs | None, list[int] | None]:
    """Return the longest response time, and statements by bucket if a file has counts.

    The longest operation in a table's row belongs to the step's own role, except during index
    creation, where it does not include the creating statements.
    """
    of_clients = known(output.response_times.get(role) for output in step.whole_outputs)
    if histograms := of_clients or known([step.response_times.get(role)]):
        buckets = zip(*(histogram.counts for histogram in histograms), strict=True)
        longest = max(histogram.longest for histogram in histograms)
        return LatencyUs(max=longest * _US_PER_S), [sum(bucket) for bucket in buckets]
    of_result = step.result.longest if step.result else {}
    times = [step.longest.get(role), of_result.get(role)]
    if step.row is not None and role == main and role != "index":
        times.append(step.row.number("maxop"))
    first = next(iter(known(times)), None)
    return None if first is None else LatencyUs(max=first * _US_PER_S), None


def _per_second(role: str, clients: Sequence[ClientOutput]) -> list[RoleSecond]:
    """Add up all clients, each from its own start; empty if rows are not one second each."""
    least, most = _ABOUT_A_SECOND
    if not all(
        client.unbroken and least <= client.elapsed / len(client.lengths) <= most
        for client in clients
    ):
        return []
    batches = {1 if role == "query" else client.rows_per_commit for client in clients}
    batch = next(iter(batches), None)
    if role not in ROLES or not batch or len(batches) > 1:
        return []
    seconds = max(len(client.lengths) for client in clients)
    done, longest_us = np.zeros(seconds), np.zeros(seconds)
    for client in clients:
        output, there = client.roles[role], slice(len(client.lengths))
        done[there] += output.done
        longest_us[there] = np.maximum(longest_us[there], output.longest_us)
    counts = np.rint(done).astype(int).tolist()
    return [
        RoleSecond(
            statements=ceil(rows / batch),
            rows=0 if role == "query" else rows,
            max_ns=int(longest) * _NS_PER_US,
            late_ns=0,
        )
        for rows, longest in zip(counts, longest_us.tolist(), strict=True)
    ]


def _per_operation_of_row(main: str, row: Row, speed: float) -> dict[str, float]:
    """Convert a row. Its writes are per insert, which is not the operation of a step with
    queries."""
    writes, written_kb = row.number("wpi"), row.number("wkbpi")
    if main == "query":
        writes, written_mb = row.number("wps"), row.number("wmbps")
        writes = None if writes is None else writes / speed
        written_kb = None if written_mb is None else written_mb * _KB_PER_MB / speed
    return present(
        host_cpu_us=row.number("cpupq"),
        host_cs=row.number("cspq"),
        reads=row.number("rpq"),
        writes=writes,
        host_read_kb=row.number("rkbpq"),
        host_write_kb=written_kb,
    )


def _cell(block: Mapping[str, str], *titles: str) -> str | None:
    """Return the cell of the first of `titles` in a block of o.res, if it is a number."""
    printed = next((block[title] for title in titles if title in block), "")
    return None if number_of(printed) is None else printed


def _per_operation_of_result(main: str, result: StepResult) -> dict[str, float]:
    """Convert a block of o.res, which has percent of the host's CPUs per operation."""
    letter = "q" if main == "query" else "i"
    block = result.hardware.get("query" if main == "query" else "insert", {})

    def value(*columns: str) -> float | None:
        cell = _cell(block, *columns)
        return None if cell is None else float(cell)

    share = value("cpu/q", f"cpu/{letter}")
    return present(
        host_share_us=None if share is None else share / 100 * _US_PER_S,
        host_cs=value("cs/q", f"cs/{letter}"),
        reads=value(f"r/{letter}"),
        writes=value(f"w/{letter}"),
        host_read_kb=value(f"rKB/{letter}"),
        host_write_kb=value(f"wKB/{letter}"),
    )


_OF_BLOCK = {
    "rps": ("r/s",), "rmbps": ("rMB/s",), "wps": ("w/s",), "wmbps": ("wMB/s",), "csps": ("cs/s",),
    "cpups": ("cpu/s",), "rpq": ("r/q", "r/i"), "rkbpq": ("rKB/q", "rKB/i"),
    "cspq": ("cs/q", "cs/i"),
}  # fmt: skip
"""Column of o.sum -> its possible titles in a block of o.res."""
_OF_INSERTS = {"wpi": "w/i", "wkbpi": "wKB/i"}
"""The same for the block of inserts, in any step."""


def _made_row(place: StepOfRun, step: ArchivedStep) -> Row | None:
    """Make the line of o.sum from its sources, o.res and o.ib; return None without either.

    Values that neither has are NA: microseconds of CPU per operation, since the number of CPUs is
    unknown, and without o.res all of the hardware.
    """
    if not step.has_sources:
        return None
    result, outputs = step.result, step.whole_outputs
    main = main_role(place.step)
    role = "query" if main == "query" else "insert"
    longest = [output.roles[role].longest_us.max() / _US_PER_S for output in outputs]
    if result is not None and role in result.longest:
        longest = [result.longest[role]]

    def published(role: str) -> float | None:
        """Return the published rate, which is the rate of o.res, cut."""
        speed = rate(step, role, Mode.COMPAT)
        return speed if speed is None or result is None else float(int(speed))

    values: dict[str, float | str | None] = {
        "ips": published("index" if main == "index" else "insert"),
        "qps": published("query") if main == "query" else 0.0,
        "maxop": float(max(longest)) if longest else None,
    }
    for percent in (50, 99):
        kept: float | None = None
        first = outputs[0] if outputs else None
        if result is not None and percent in (exceeded := result.exceeded.get(role, {})):
            kept = exceeded[percent]
        elif first is not None and first.unbroken:
            rates_of_seconds = first.roles[role].done / first.lengths.clip(min=0.1)
            kept = rate_kept(rates_of_seconds.tolist(), percent / 100)
        values[f"p{percent}"] = None if main == "index" else kept
    if result is not None:
        block, of_inserts = (result.hardware.get(key, {}) for key in (role, "insert"))
        resident = result.resident_kb
        values |= {
            "dbgb1": result.database_gb,
            "dbgb2": result.directory_gb,
            "rss": None if resident is None else resident / _KB_PER_GB,
            **{column: _cell(block, *titles) for column, titles in _OF_BLOCK.items()},
            **{column: _cell(of_inserts, title) for column, title in _OF_INSERTS.items()},
        }
    return row_of_values(values, place.tag)
