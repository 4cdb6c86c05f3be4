"""Three clients that run the same point queries: the driver, sysbench, and a minimal loop in C."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from bench.scratch_server import Server

Second = float
Microsecond = float


@dataclass(frozen=True)
class Workload:
    """Point queries over one table."""

    rows: int
    clients: int
    seconds: int
    processors: frozenset[int]


@dataclass(frozen=True)
class Measurement:
    """What one run of a client gave: its rate, and its own CPU time per operation.

    The CPU time is the kernel's account of the whole process, start and connecting included.
    """

    qps: float
    cpu_per_operation: Microsecond


class PeerFailedError(Exception):
    """A client ended with an error, or its output was not understood."""


Client = Callable[[Server, Workload], Measurement]


def _finish(process: subprocess.Popen[str]) -> tuple[str, Second]:
    """Output of a process and the CPU time that it used, once it has ended."""
    assert process.stdout is not None
    with process.stdout:
        output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise PeerFailedError(f"{process.args!r}: exit code {process.returncode}: {output}")
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
    """Sysbench's point queries, prepared, uniform, without its histogram."""
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
        raise PeerFailedError(output)
    operations = int(queries[1])
    return _measurement(operations, operations / float(queries[2]), cpu)


def sysbench_command(server: Server, rows: int, clients: int) -> list[str]:
    """The part of sysbench's command line that says what it connects to."""
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
    """The minimal loop, for one client."""

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
    """The driver: one session, one slice."""

    def run(server: Server, workload: Workload) -> Measurement:
        process = _start([program], workload)
        shape = {"tables": 1, "rows": workload.rows, "seed": 7}
        opened = {"id": 1, "command": "open", "session": "s", "target": to_builtins(server.target),
                  "test": "point-query", "clients": workload.clients}  # fmt: skip
        slice_ = {"id": 2, "command": "run", "session": "s", "stop": {"seconds": workload.seconds}}
        converse(process, opened | shape)
        ran = converse(process, slice_)
        assert process.stdin is not None
        process.stdin.close()
        _, cpu = _finish(process)
        return _measurement(ran["operations"], ran["seconds"], cpu)

    return run


def converse(process: subprocess.Popen[str], command: dict[str, object]) -> dict[str, Any]:
    """Send the driver a command; its terminal event."""
    assert process.stdin is not None
    assert process.stdout is not None
    print(json.dumps(command), file=process.stdin, flush=True)
    for line in process.stdout:
        event: dict[str, Any] = json.loads(line)
        if event["event"] == "error":
            raise PeerFailedError(line)
        if event["event"] != "progress":
            return event
    raise PeerFailedError("the driver ended early")
