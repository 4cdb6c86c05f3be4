"""A step of an archived Insert Benchmark: its rate, slice, line of o.sum and contradictions.

The published rates are rows, or queries, over the whole seconds of a clock that ran from before the
first client was started, cut after one decimal or rounded to integers. The clients' own rows (o.ib)
have neither error; o.res has the counts, so that at least nothing is cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from math import ceil
from pathlib import Path

import numpy as np

from slowdust.archive.classic import Classic
from slowdust.archive.files import Cell, differing
from slowdust.archive.insert.archive import ArchivedStep, InsertArchive
from slowdust.archive.insert.client import ROLES, ClientOutput
from slowdust.archive.insert.names import FileKind, main_role, parse_file, rate_of
from slowdust.archive.insert.tables import RUN_TABLE, Row, StepResult, rate_kept, row_of_values
from slowdust.benchmarks.insert import INSERT
from slowdust.exchange import Mode, Problem
from slowdust.formats.text import number_of
from slowdust.store.latency import LatencyUs
from slowdust.store.manifest import Fate
from slowdust.store.measured import Measured, Printed, PrintedRole, Use
from slowdust.store.slice import Place, Slice
from slowdust.store.step import RoleSecond, RoleUse, StepDetail
from slowdust.units import known, present

_OF_RESULT = "those of o.res"


StepRate = tuple[float, str]
"""The rate of a step in one role, per second, and its source in words."""


def rate_with_source(step: ArchivedStep, role: str, mode: Mode) -> StepRate | None:
    """Return rows per second of `insert`, `index` or `delete`, or queries per second of `query`.

    None where no file has the rate.
    """
    published = _published(step, role)
    clean = _of_clients(step, role) or _of_counts(step, role)
    return published or clean if mode is Mode.COMPAT else clean or published


def rate(step: ArchivedStep, role: str, mode: Mode) -> float | None:
    sourced = rate_with_source(step, role, mode)
    return None if sourced is None else sourced[0]


def correction(step: ArchivedStep, role: str) -> float | None:
    """Return the clean rate / the published rate; None where only one of them is known."""
    clean, published = rate(step, role, Mode.CLEAN), _published(step, role)
    return clean / published[0] if clean and published and published[0] else None


def outputs(step: ArchivedStep) -> list[ClientOutput]:
    """Return the output of all clients; nothing if that of one is missing or incomplete.

    The counts of a last row that is not the last are of a beginning, which may have been faster.
    """
    there = [step.outputs[number] for number in sorted(step.outputs)]
    whole = len(there) == (step.clients or 0) and all(output.complete for output in there)
    return there if whole else []


def _published(step: ArchivedStep, role: str) -> StepRate | None:
    column = {"insert": "ips", "index": "ips", "query": "qps"}.get(role)
    if column is None:
        return None
    if step.row is not None:
        per_second, source = step.row.number(column), "as published"
    elif step.result is not None:
        printed = step.result.ips if column == "ips" else step.result.qps
        per_second, source = number_of(printed or ""), _OF_RESULT
    else:
        return None
    return None if per_second is None else (per_second, source)


def _of_clients(step: ArchivedStep, role: str) -> StepRate | None:
    if role not in ROLES:
        return None
    counted = [(output.roles[role].total, output.elapsed) for output in outputs(step)]
    rates = [count / elapsed for count, elapsed in counted if count and elapsed]
    return (sum(rates), "those of its counts since the beginning") if rates else None


def _of_counts(step: ArchivedStep, role: str) -> StepRate | None:
    result = step.result
    if result is None or not result.seconds:
        return None
    if role in ("insert", "index"):
        return result.rows / result.seconds, _OF_RESULT
    if role == "query" and result.queries is not None:
        return result.queries / result.seconds, _OF_RESULT
    return None


_ALIKE = 0.02
"""The part by which counts of clients and of o.res may differ: o.res has the rows asked for."""
ByPath = dict[Path, Problem]
"""File -> its problem."""


def check_steps(archive: InsertArchive, mode: Mode) -> list[Problem]:
    """Return the problems of the archive and of its steps: one line for each client's file."""
    of_clients: ByPath = {}
    others = []
    for problem in archive.problems:
        file = parse_file(problem.path.name)
        if file is not None and file.kind is FileKind.CLIENT:
            of_clients[problem.path] = problem
        else:
            others.append(problem)
    for run in archive.runs.values():
        for name, step in ((name, step) for name, step in run.items() if step.outputs):
            sourced = rate_with_source(step, main_role(name), mode)
            source = f"rates are {sourced[1]}" if sourced else "the step is left out"
            _add_damage(step, source, of_clients)
            _add_missing(step, source, of_clients)
            if step.result_path is not None:
                cells = _counts(name, step)
                others += differing(step.result_path, cells, "o.ib of all clients")
    for run_name, table in archive.table_paths.items():
        steps = archive.runs[run_name]
        published = (cell for name, step in steps.items() for cell in _published_cells(name, step))
        others += differing(table, published, "o.res")
    return [*others, *of_clients.values()]


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
    clients = outputs(step)
    if step.result is None or not clients or any(output.damage for output in clients):
        return
    counts = {"queries": ("query", step.result.queries)}
    if main_role(name) == "insert":
        counts["rows inserted"] = ("insert", step.result.rows)
    for what, (role, there) in counts.items():
        total = sum(output.roles[role].total for output in clients)
        if there is not None and abs(there - total) > _ALIKE * max(there, total):
            yield what, str(there), str(total)


def _published_cells(name: str, step: ArchivedStep) -> Iterator[Cell]:
    if step.result is None or step.row is None or step.row_source != RUN_TABLE:
        return
    for column, printed in (("ips", step.result.ips), ("qps", step.result.qps)):
        there, source = step.row.number(column), number_of(printed or "")
        if printed and there is not None and source is not None and abs(there - source) > 1:
            yield f"{column} of {name}", step.row[column], printed


_US_PER_S = 1e6
_NS_PER_US = 1000
_KB_PER_MB = 1024
_KB_PER_GB = 1 << 20
_BYTES_PER_GB = 1 << 30
_ABOUT_A_SECOND = (0.9, 1.1)
"""Mean interval of rows that count as seconds."""
_UNKNOWN_UNIT = "operations/s"
_LOOP_OF_2024 = re.compile(r"\.L\d{1,9}$")
_KEPT = {"p50": 50, "p99": 99}
_PER_OPERATION = {"rpq": ("r/q", "r/i"), "rkbpq": ("rKB/q", "rKB/i"), "cspq": ("cs/q", "cs/i")}
_PER_SECOND = {
    "rps": "r/s", "rmbps": "rMB/s", "wps": "w/s", "wmbps": "wMB/s", "csps": "cs/s",
    "cpups": "cpu/s",
}  # fmt: skip
_PER_INSERT = {"wpi": "w/i", "wkbpi": "wKB/i"}


@dataclass(frozen=True)
class StepOfRun:
    """The step that a slice is of."""

    run: str
    """The run's name in the archive."""
    tag: str
    """The run's name in its tables, which may have its size."""
    step: str
    """The step's name in the archive."""
    contender: str
    clients: int


def slice_of(place: StepOfRun, step: ArchivedStep, mode: Mode) -> Slice | None:
    name, row, result = place.step, step.row, step.result
    main = main_role(name)
    roles = _roles(place, step, mode)
    role = roles[main].printed if main in roles else None
    if role is None:
        return None
    test = _LOOP_OF_2024.sub("", name)  # Slowdust calls `qr100.L1` `qr100`
    definition = INSERT.test(test)
    target = rate_of(name)
    per_operation: dict[str, float] = {}
    if role.rate and row is not None:
        per_operation = _per_operation_of_row(main, row, role.rate)
    elif role.rate and result is not None:
        per_operation = _per_operation_of_result(main, result)
    # The time of the slowest client, or else of the script that started them all.
    of_clients = max((output.elapsed for output in outputs(step)), default=None)
    # A Postgres process that was about to end has a size of 0, which is none.
    resident = row.number("rss") if row else None
    if resident == 0 and mode is Mode.CLEAN:
        resident = None
    uses: dict[str, Use] = {}
    if resident is not None:
        uses["server"] = {"rss_bytes": _bytes(resident)}
    size = row.number("dbgb1") if row else None
    if size is None and result is not None:
        size = result.database_gb
    table_row = row or _made_row(place, step)
    return Slice(
        place=Place(
            benchmark=INSERT.name, test=test, clients=place.clients, contender=place.contender
        ),
        qps=role.rate,
        unit=definition.unit if definition else _UNKNOWN_UNIT,
        measured=Measured(seconds=of_clients or (result.seconds if result else None), uses=uses),
        printed=Printed(
            response=role.response,
            per_operation=per_operation,
            texts=Classic(
                run=place.run, file=name, table_row=list(table_row.cells) if table_row else None
            ).texts,
        ),
        step=StepDetail(
            roles=roles,
            target=None if target is None else float(target * place.clients),
            data_bytes=None if size is None else _bytes(size),
        ),
    )


def _bytes(gigabytes: float) -> int:
    return round(gigabytes * _BYTES_PER_GB)


def _roles(place: StepOfRun, step: ArchivedStep, mode: Mode) -> dict[str, RoleUse]:
    main = main_role(place.step)
    wanted = [main] if main == "index" else [*dict.fromkeys((main, "insert", "delete"))]
    roles = {}
    for role in wanted:
        if (speed := rate(step, role, mode)) is None:
            continue
        response, buckets = _response(role, main, step)
        roles[role] = RoleUse(
            connections=place.clients,
            seconds=max((output.elapsed for output in outputs(step)), default=None),
            per_second=_per_second(role, outputs(step)),
            printed=PrintedRole(rate=speed, response=response, buckets=buckets),
        )
    return roles


def _response(
    role: str, main: str, step: ArchivedStep
) -> tuple[LatencyUs | None, list[int] | None]:
    """Return the longest response time, and statements by buckets where a file has counts.

    The longest operation of a table's row is that of the step's own role, except while indexes
    are created: then it is none of the statements that do it.
    """
    of_clients = known(output.response_times.get(role) for output in outputs(step))
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
    """Add up all clients, each from its own start on; nothing where rows are not of a second."""
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
    count = max(len(client.lengths) for client in clients)
    done, longest_us = np.zeros(count), np.zeros(count)
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
    """Convert a row: its writes are per insert, which beside queries is not the operation."""
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


def _per_operation_of_result(main: str, result: StepResult) -> dict[str, float]:
    """Convert a block of o.res, which has percent of the host's CPUs per operation."""
    letter = "q" if main == "query" else "i"
    cells = result.hardware.get("query" if main == "query" else "insert", {})

    def value(*columns: str) -> float | None:
        cell = next((cells[column] for column in columns if column in cells), "")
        return number_of(cell)

    share = value("cpu/q", f"cpu/{letter}")
    return present(
        host_share_us=None if share is None else share / 100 * _US_PER_S,
        host_cs=value("cs/q", f"cs/{letter}"),
        reads=value(f"r/{letter}"),
        writes=value(f"w/{letter}"),
        host_read_kb=value(f"rKB/{letter}"),
        host_write_kb=value(f"wKB/{letter}"),
    )


def _made_row(place: StepOfRun, step: ArchivedStep) -> Row | None:
    """Make the line of o.sum of its sources, o.res and o.ib; return None where neither is there.

    A value that neither of them has is NA: microseconds of CPU per operation, since nothing there
    says how many CPUs there were, and without o.res all of the hardware.
    """
    result = step.result
    if result is None and not outputs(step):
        return None
    main = main_role(place.step)
    role = "query" if main == "query" else "insert"
    longest = [output.roles[role].longest_us.max() / _US_PER_S for output in outputs(step)]
    if result is not None and role in result.longest:
        longest = [result.longest[role]]
    values: dict[str, float | str | None] = {
        "ips": _rate(step, "index" if main == "index" else "insert"),
        "qps": _rate(step, "query") if main == "query" else 0.0,
        "maxop": float(max(longest)) if longest else None,
    }
    for column, percent in _KEPT.items():
        values[column] = None if main == "index" else _kept(step, role, percent)
    return row_of_values(values | (_hardware(result, role) if result else {}), place.tag)


def _rate(step: ArchivedStep, role: str) -> float | None:
    """Return the published rate, which is that of o.res, cut."""
    published = rate(step, role, Mode.COMPAT)
    return published if published is None or step.result is None else float(int(published))


def _kept(step: ArchivedStep, role: str, percent: int) -> float | None:
    """Return the rate that the first client reached in so many of its seconds."""
    if step.result is not None and percent in (rates := step.result.exceeded.get(role, {})):
        return rates[percent]
    first = next(iter(outputs(step)), None)
    if first is None or not first.unbroken:
        return None
    rates_of_seconds = first.roles[role].done / first.lengths.clip(min=0.1)
    return rate_kept(rates_of_seconds.tolist(), percent / 100)


def _hardware(result: StepResult, role: str) -> dict[str, float | str | None]:
    cells, of_inserts = (result.hardware.get(key, {}) for key in (role, "insert"))

    def cell(row: Mapping[str, str], *titles: str) -> str | None:
        printed = next((row[title] for title in titles if title in row), "")
        return None if number_of(printed) is None else printed

    return {
        "dbgb1": result.database_gb,
        "dbgb2": result.directory_gb,
        "rss": None if result.resident_kb is None else result.resident_kb / _KB_PER_GB,
        **{column: cell(cells, title) for column, title in _PER_SECOND.items()},
        **{column: cell(cells, *titles) for column, titles in _PER_OPERATION.items()},
        **{column: cell(of_inserts, title) for column, title in _PER_INSERT.items()},
    }
