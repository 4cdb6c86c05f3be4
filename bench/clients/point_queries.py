"""Clients that run the same point queries: the driver, sysbench, and minimal loops in C."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from bench.clients.process import ClientFailedError, execute
from bench.servers.scratch import Server
from slowdust.experiment.cpus import pin, place_clients
from slowdust.units import Microsecond, Second

_SHORTEST: Second = 0.001


@dataclass(frozen=True)
class Workload:
    """Point queries over one table."""

    rows: int
    clients: int
    seconds: int
    processors: frozenset[int]


@dataclass(frozen=True)
class Measurement:
    """Rate, CPU time per operation and context switches per operation of one run of a client.

    CPU time and switches are the kernel's totals of the process, minus the totals of a run that
    connects as many clients and runs almost no operations.
    """

    qps: float
    cpu_per_operation: Microsecond
    switches_per_operation: float


Client = Callable[[Server, Workload], Measurement]


@dataclass(frozen=True)
class Use:
    """Resources that a client used."""

    cpu: Second
    switches: int


def _finish(process: subprocess.Popen[str]) -> tuple[str, Use]:
    """Wait for a process to exit; return its output and its use."""
    assert process.stdout is not None
    with process.stdout:
        output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise ClientFailedError(f"{process.args!r}: exit code {process.returncode}: {output}")
    return output, Use(usage.ru_utime + usage.ru_stime, usage.ru_nvcsw + usage.ru_nivcsw)


def _start(command: Sequence[str | Path], workload: Workload) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["taskset", "--cpu-list", ",".join(map(str, sorted(workload.processors))), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _measurement(operations: int, seconds: Second, whole: Use, start: Use) -> Measurement:
    return Measurement(
        operations / seconds,
        (whole.cpu - start.cpu) / operations * 1e6,
        (whole.switches - start.switches) / operations,
    )


def sysbench(server: Server, workload: Workload) -> Measurement:
    """Run sysbench's point queries: prepared, uniform, without a histogram."""
    _, start = _run_sysbench(server, workload, ["--time=0", f"--events={workload.clients}"])
    output, whole = _run_sysbench(server, workload, [f"--time={workload.seconds}"])
    queries = re.search(r"queries:\s+(\d+)\s+\(([\d.]+) per sec", output)
    if queries is None:
        raise ClientFailedError(output)
    operations = int(queries[1])
    return _measurement(operations, operations / float(queries[2]), whole, start)


def _run_sysbench(server: Server, workload: Workload, length: Sequence[str]) -> tuple[str, Use]:
    command = sysbench_command(server, workload.rows, workload.clients)
    options = [*length, "--rand-type=uniform", "--histogram=off", "run"]
    return _finish(_start([*command, *options], workload))


def sysbench_command(server: Server, rows: int, clients: int) -> list[str]:
    """Return sysbench's command line up to its connection options."""
    directory, target = server.socket_directory, server.target
    if target.dbms == "postgres":
        driver = "pgsql"
        address = [f"--pgsql-host={directory}", f"--pgsql-port={target.port}"]
    else:
        driver = "mysql"
        address = [f"--mysql-socket={directory / 'mysql.sock'}"]
    return [
        "sysbench", "oltp_point_select", f"--db-driver={driver}", *address,
        f"--{driver}-user={target.user}", f"--{driver}-db={target.database}",
        "--tables=1", f"--table-size={rows}", f"--threads={clients}",
    ]  # fmt: skip


def loop_in_c(program: Path) -> Client:
    """Return a minimal loop as a client, which always has one connection."""

    def run_for(server: Server, workload: Workload, seconds: int) -> tuple[str, Use]:
        target = server.target
        process = _start(
            [program, server.socket_directory, str(target.port), target.user, target.database,
             str(workload.rows), str(seconds)],
            workload,
        )  # fmt: skip
        return _finish(process)

    def run(server: Server, workload: Workload) -> Measurement:
        _, start = run_for(server, workload, 0)
        output, whole = run_for(server, workload, workload.seconds)
        operations, seconds = output.split()
        return _measurement(int(operations), float(seconds), whole, start)

    return run


Placement = Callable[[int, Sequence[int]], list[int] | None]
"""A function: number of clients, usable CPUs -> the CPU of each client; None to pin none."""


def anywhere(_clients: int, _usable: Sequence[int]) -> None:
    """Leave clients and server to the scheduler."""


def driver(program: Path, place: Placement = place_clients) -> Client:
    """Return the driver as a client: one session, one slice, placed as in an experiment."""

    def run_for(server: Server, workload: Workload, seconds: Second) -> tuple[dict[str, Any], Use]:
        process = _start([program], workload)
        cpus = place(workload.clients, sorted(workload.processors))
        shape = {"tables": 1, "rows": workload.rows, "seed": 7, "cpus": cpus}
        opened = {"id": 1, "command": "open", "session": "s", "target": to_builtins(server.target),
                  "test": "point-query", "clients": workload.clients}  # fmt: skip
        slice_ = {"id": 2, "command": "run", "session": "s", "stop": {"seconds": seconds}}
        server_processes = execute(process, opened | shape)["server_processes"]
        if cpus is not None and server_processes:  # empty if all threads serve all clients
            pin(server_processes, cpus)
        measured = execute(process, slice_)
        assert process.stdin is not None
        process.stdin.close()
        _, use = _finish(process)
        return measured, use

    def run(server: Server, workload: Workload) -> Measurement:
        _, start = run_for(server, workload, _SHORTEST)
        measured, whole = run_for(server, workload, workload.seconds)
        return _measurement(measured["operations"], measured["seconds"], whole, start)

    return run


def load(server: Server, program: Path, rows: int) -> Second:
    """Load the table with the driver; return the time that the driver took."""
    begin = time.monotonic()
    with subprocess.Popen(
        [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        command = {"id": 1, "command": "load", "target": to_builtins(server.target), "tables": 1,
                   "rows": rows, "seed": 7, "parallel": 2}  # fmt: skip
        execute(process, command)
    return time.monotonic() - begin
