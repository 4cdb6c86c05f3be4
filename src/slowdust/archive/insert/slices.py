"""A step of an archived Insert Benchmark as a slice of the store, with its line of o.sum."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from slowdust.archive.importing import Mode
from slowdust.archive.insert.archive import ArchivedStep
from slowdust.archive.insert.rates import outputs, rate
from slowdust.benchmarks.insert import INSERT
from slowdust.formats.insert import tables
from slowdust.formats.insert.client import ROLES, ClientOutput
from slowdust.formats.insert.names import main_role, rate_of
from slowdust.formats.insert.result import StepResult
from slowdust.formats.insert.tables import Row
from slowdust.formats.text import number_of
from slowdust.store.archived import Archived, ArchivedRole, Classic
from slowdust.store.latency import LatencyUs
from slowdust.store.measured import Measured, Use
from slowdust.store.slice import Place, Slice
from slowdust.store.step import RoleSecond, RoleUse, StepDetail
from slowdust.units import Second, known, present

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
    """Return the slice; None where nothing says how fast the step was."""
    name = place.step
    main = main_role(name)
    roles = _roles(place, step, mode)
    role = roles[main].archived if main in roles else None
    if role is None:
        return None
    speed = role.rate
    test = _LOOP_OF_2024.sub("", name)  # Slowdust calls `qr100.L1` `qr100`
    definition = INSERT.test(test)
    target = rate_of(name)
    return Slice(
        place=Place(
            benchmark=INSERT.name, test=test, clients=place.clients, contender=place.contender
        ),
        qps=speed,
        unit=definition.unit if definition else _UNKNOWN_UNIT,
        measured=Measured(seconds=_seconds(step), uses=_uses(step.row, mode)),
        archived=Archived(
            response=role.response,
            per_operation=_per_operation(main, step, speed) if speed else {},
            classic=Classic(run=place.run, file=name, table_row=_table_row(place, step)),
        ),
        step=StepDetail(
            roles=roles,
            target=None if target is None else float(target * place.clients),
            data_bytes=_data_bytes(step),
        ),
    )


def _table_row(place: StepOfRun, step: ArchivedStep) -> list[str] | None:
    """Return the row of the step's table, or else one made of its other files, as published."""
    row = step.row or _made_row(place, step)
    return list(row.cells) if row else None


def _seconds(step: ArchivedStep) -> Second | None:
    """Return the time of the slowest client, or else of the script that started them all."""
    of_clients = max((output.elapsed for output in outputs(step)), default=None)
    return of_clients or (step.result.seconds if step.result else None)


def _roles(place: StepOfRun, step: ArchivedStep, mode: Mode) -> dict[str, RoleUse]:
    """Return the roles of whose rate something is known."""
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
            archived=ArchivedRole(rate=speed, response=response, buckets=buckets),
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
    histograms = of_clients or known([step.response_times.get(role)])
    if histograms:
        buckets = zip(*(histogram.counts for histogram in histograms), strict=True)
        counts = [sum(bucket) for bucket in buckets]
        longest = max(histogram.longest for histogram in histograms)
        return LatencyUs(max=longest * _US_PER_S), counts
    longest_known = None
    if role in step.longest:
        longest_known = step.longest[role]
    elif step.result is not None and role in step.result.longest:
        longest_known = step.result.longest[role]
    elif step.row is not None and role == main and role != "index":
        longest_known = step.row.number("maxop")
    return None if longest_known is None else LatencyUs(max=longest_known * _US_PER_S), None


def _per_second(role: str, clients: Sequence[ClientOutput]) -> list[RoleSecond]:
    """Add up all clients, each from its own start on; nothing where rows are not of a second."""
    batches = {1 if role == "query" else client.rows_per_commit for client in clients}
    batch = next(iter(batches), None)
    if role not in ROLES or not batch or len(batches) > 1 or not all(map(_by_second, clients)):
        return []
    count = max(len(client.lengths) for client in clients)
    done, longest_us = np.zeros(count), np.zeros(count)
    for client in clients:
        output, there = client.roles[role], slice(len(client.lengths))
        done[there] += output.done
        longest_us[there] = np.maximum(longest_us[there], output.longest_us)
    return [
        RoleSecond(
            statements=ceil(rows / batch),
            rows=0 if role == "query" else rows,
            max_ns=int(longest) * _NS_PER_US,
            late_ns=0,
        )
        for rows, longest in zip(
            np.rint(done).astype(int).tolist(), longest_us.tolist(), strict=True
        )
    ]


def _by_second(client: ClientOutput) -> bool:
    least, most = _ABOUT_A_SECOND
    return client.unbroken and least <= client.elapsed / len(client.lengths) <= most


def _uses(row: Row | None, mode: Mode) -> dict[str, Use]:
    """Return the server's size; a Postgres process that was about to end has 0, which is none."""
    size = None if row is None else row.number("rss")
    if size is None or (size == 0 and mode is Mode.CLEAN):
        return {}
    return {"server": {"rss_bytes": round(size * _BYTES_PER_GB)}}


def _data_bytes(step: ArchivedStep) -> int | None:
    size = step.row.number("dbgb1") if step.row else None
    if size is None and step.result is not None:
        size = step.result.database_gb
    return None if size is None else round(size * _BYTES_PER_GB)


def _per_operation(main: str, step: ArchivedStep, speed: float) -> dict[str, float]:
    if step.row is not None:
        return _per_operation_of_row(main, step.row, speed)
    return {} if step.result is None else _per_operation_of_result(main, step.result)


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
    if step.result is None and not outputs(step):
        return None
    main = main_role(place.step)
    role = "query" if main == "query" else "insert"
    values = {
        "ips": _rate(step, "index" if main == "index" else "insert"),
        "qps": _rate(step, "query") if main == "query" else 0.0,
        "maxop": _longest(step, role),
        **{column: _kept(step, role, percent) for column, percent in _KEPT.items()},
    }
    if main == "index":
        values |= dict.fromkeys(_KEPT, None)
    hardware = {} if step.result is None else _hardware(step.result, role)
    return tables.row_of_values({**values, **hardware}, place.tag)


def _rate(step: ArchivedStep, role: str) -> float | None:
    """Return the published rate, which is that of o.res, cut."""
    known = rate(step, role, Mode.COMPAT)
    return known if known is None or step.result is None else float(int(known))


def _longest(step: ArchivedStep, role: str) -> float | None:
    if step.result is not None and role in step.result.longest:
        return step.result.longest[role]
    longest = [output.roles[role].longest_us.max() for output in outputs(step)]
    return float(max(longest)) / _US_PER_S if longest else None


def _kept(step: ArchivedStep, role: str, percent: int) -> float | None:
    """Return the rate that the first client reached in so many of its seconds."""
    if step.result is not None and percent in (rates := step.result.exceeded.get(role, {})):
        return rates[percent]
    first = next(iter(outputs(step)), None)
    if first is None or not first.unbroken:
        return None
    rates_of_seconds = first.roles[role].done / first.lengths.clip(min=0.1)
    return tables.rate_kept(rates_of_seconds.tolist(), percent / 100)


def _hardware(result: StepResult, role: str) -> dict[str, float | str | None]:
    """Return the hardware in the columns of o.sum."""
    cells, of_inserts = (result.hardware.get(key, {}) for key in (role, "insert"))
    values: dict[str, float | str | None] = {
        "dbgb1": result.database_gb,
        "dbgb2": result.directory_gb,
        "rss": None if result.resident_kb is None else result.resident_kb / _KB_PER_GB,
    }
    for column, title in _PER_SECOND.items():
        values[column] = _cell(cells.get(title))
    for column, titles in _PER_OPERATION.items():
        values[column] = _cell(next((cells[title] for title in titles if title in cells), None))
    for column, title in _PER_INSERT.items():
        values[column] = _cell(of_inserts.get(title))
    return values


def _cell(printed: str | None) -> str | None:
    return printed if printed is not None and number_of(printed) is not None else None
