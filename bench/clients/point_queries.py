"""Three clients that run the same point queries: the driver, sysbench, and a minimal loop in C."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import to_builtins

from bench.clients.process import ClientFailedError, execute
from bench.servers.scratch import Server
from slowdust.units import Microsecond, Second


@dataclass(frozen=True)
class Workload:
    """Point queries over one table."""

    rows: int
    clients: int
    seconds: int
    processors: frozenset[int]


@dataclass(frozen=True)
class Measurement:
    """Rate and CPU time per operation of one run of a client.

    The CPU time is the kernel's account of the whole process, start and connecting included.
    """

    qps: float
    cpu_per_operation: Microsecond


Client = Callable[[Server, Workload], Measurement]


def _finish(process: subprocess.Popen[str]) -> tuple[str, Second]:
    """Wait for the end of a process; return its output and the CPU time that it used."""
    assert process.stdout is not None
    with process.stdout:
        output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise ClientFailedError(f"{process.args!r}: exit code {process.returncode}: {output}")
    return output, usage.ru_utime + usage.ru_stime


def _start(command: Sequence[str | Path], workload: Workload) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["taskset", "--cpu-list", ",".join(map(str, sorted(workload.processors))), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _measurement(operations: int, seconds: Second, cpu: Second) -> Measurement:
    return Measurement(operations / seconds, cpu / operations * 1e6)


def sysbench(server: Server, workload: Workload) -> Measurement:
    """Run sysbench's point queries: prepared, uniform, without its histogram."""
    process = _start(
        [
            *sysbench_command(server, workload.rows, workload.clients),
            f"--time={workload.seconds}",
            "--rand-type=uniform",
            "--histogram=off",
            "run",
        ],
        workload,
    )
    output, cpu = _finish(process)
    queries = re.search(r"queries:\s+(\d+)\s+\(([\d.]+) per sec", output)
    if queries is None:
        raise ClientFailedError(output)
    operations = int(queries[1])
    return _measurement(operations, operations / float(queries[2]), cpu)


def sysbench_command(server: Server, rows: int, clients: int) -> list[str]:
    """Return the part of sysbench's command line that says what it connects to."""
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
    """Return the minimal loop as a client; it is always one connection."""

    def run(server: Server, workload: Workload) -> Measurement:
        target = server.target
        process = _start(
            [program, server.socket_directory, str(target.port), target.user, target.database,
             str(workload.rows), str(workload.seconds)],
            workload,
        )  # fmt: skip
        output, cpu = _finish(process)
        operations, seconds = output.split()
        return _measurement(int(operations), float(seconds), cpu)

    return run


def driver(program: Path) -> Client:
    """Return the driver as a client: one session, one slice."""

    def run(server: Server, workload: Workload) -> Measurement:
        process = _start([program], workload)
        shape = {"tables": 1, "rows": workload.rows, "seed": 7}
        opened = {"id": 1, "command": "open", "session": "s", "target": to_builtins(server.target),
                  "test": "point-query", "clients": workload.clients}  # fmt: skip
        slice_ = {"id": 2, "command": "run", "session": "s", "stop": {"seconds": workload.seconds}}
        execute(process, opened | shape)
        measured = execute(process, slice_)
        assert process.stdin is not None
        process.stdin.close()
        _, cpu = _finish(process)
        return _measurement(measured["operations"], measured["seconds"], cpu)

    return run
