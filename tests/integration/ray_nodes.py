"""Nodes of a Ray cluster on this machine, on 127.0.0.1 alone, as a program of its own.

    python -m tests.integration.ray_nodes DIRECTORY

Each line of standard input is a command, which is answered by a line: the address of the head, or
`done`. At the end of its input it ends all nodes.

    head                      start the head's node
    host NAME [KEY=VALUE]...  start a node that measures, with data, claims and cache of its own in
                              DIRECTORY/NAME; `cpu=MODEL` is the model of its CPU, with _ for
                              blanks, `disk=SIZE` the size of the file system with its data
    fill NAME                 fill that file system
    slow NAME                 let a node's runs stand still for most of the time
    set VARIABLE=VALUE        set a variable in the environment of nodes that start later
    kill NAME                 end all of a node by SIGKILL

`ray start` replaces 127.0.0.1 by an address that other machines reach, unless the variable below is
0, and then starts no second node.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import psutil

os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
_SMALL = {
    "include_dashboard": False,
    "object_store_memory": 80_000_000,
    "num_gpus": 0,
    "node_ip_address": "127.0.0.1",
}
_CLONE_NEWNS, _CLONE_FS = 0x00020000, 0x00000200
_STANDS_S, _RUNS_S = 0.57, 0.03
"""What a slow node's runs stand still, and run, again and again."""


@contextmanager
def _own_mounts() -> Iterator[None]:
    """Let what is mounted in the context be seen by processes that begin there alone."""
    with Path("/proc/thread-self/ns/mnt").open("rb") as before:
        _system_call("unshare", _CLONE_NEWNS)
        try:
            _mount("--make-rprivate", "/")
            yield
        finally:
            _system_call("unshare", _CLONE_FS)  # threads that began meanwhile share it
            _system_call("setns", before.fileno(), _CLONE_NEWNS)


def _system_call(name: str, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), f"{name}: the mounts of a node cannot be its own")


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


class Nodes:
    """The nodes that were started, by their names."""

    def __init__(self, directory: Path) -> None:
        os.environ["RAY_TMPDIR"] = str(directory)
        (directory / "ray").mkdir()
        self._directory = directory
        from ray.cluster_utils import Cluster  # reads the environment

        self._cluster = Cluster()
        self._nodes: dict[str, Any] = {}

    def head(self) -> str:
        """Start the head's node, which measures nothing; return its address."""
        self._nodes["head"] = self._cluster.add_node(
            **_SMALL, num_cpus=1, node_name="head", wait=False
        )
        return str(self._cluster.address)

    def host(self, name: str, *facts: str) -> str:
        """Start a node that measures."""
        own = self._directory / name
        own.mkdir(exist_ok=True)
        own.chmod(0o755)
        os.environ["SLOWDUST_DATA"] = str(own / "data")
        os.environ["SLOWDUST_CLAIMS"] = str(own / "claims")
        os.environ["SLOWDUST_CACHE"] = str(own / "cache")

        wanted = dict(fact.split("=") for fact in facts)
        with _own_mounts() if wanted else nullcontext():
            if model := wanted.get("cpu"):
                _set_cpu(own, model.replace("_", " "))
            if size := wanted.get("disk"):
                (own / "data").mkdir()
                _mount("-t", "tmpfs", "-o", f"size={size},mode=755", "small", str(own / "data"))
            self._nodes[name] = self._cluster.add_node(
                **_SMALL, num_cpus=1, node_name=name, resources={"slowdust_host": 1}, wait=False
            )
        return "done"

    def fill(self, name: str) -> str:
        """Fill the file system of a node's data."""
        (raylet,) = self._nodes[name].all_processes["raylet"]
        seen_there = Path(f"/proc/{raylet.process.pid}/root")
        data = seen_there / (self._directory / name / "data").relative_to("/")
        with suppress(OSError), (data / "filler").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        return "done"

    def slow(self, name: str) -> str:
        """Let the runs of a node stand still for most of the time from now on."""
        data = str(self._directory / name / "data")
        threading.Thread(target=_slow_down, args=(data,), daemon=True).start()
        return "done"

    def set(self, variable: str) -> str:
        """Set a variable in the environment of nodes that start later."""
        name, _, value = variable.partition("=")
        os.environ[name] = value
        return "done"

    def kill(self, name: str) -> str:
        """End all processes of a node by SIGKILL."""
        self._cluster.remove_node(self._nodes.pop(name), allow_graceful=False)
        return "done"

    def close(self) -> None:
        """End all nodes."""
        self._cluster.shutdown()


def _set_cpu(own: Path, model: str) -> None:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    named = [f"model name\t: {model}" if line.startswith("model name") else line for line in lines]
    (own / "cpuinfo").write_text("\n".join(named) + "\n", encoding="utf-8")
    _mount("--bind", str(own / "cpuinfo"), "/proc/cpuinfo")


def _slow_down(data: str) -> None:
    while True:
        runs = [each for each in psutil.process_iter() if _is_run(each, data)]
        for moment, wanted in ((_STANDS_S, signal.SIGSTOP), (_RUNS_S, signal.SIGCONT)):
            for process in runs:
                with suppress(psutil.Error):
                    process.send_signal(wanted)
            time.sleep(moment)


def _is_run(process: psutil.Process, data: str) -> bool:
    """Return whether a process is `slowdust run` on the node with such data."""
    try:
        words = process.cmdline()
        return "slowdust" in words and "run" in words and process.environ()["SLOWDUST_DATA"] == data
    except (psutil.Error, KeyError):
        return False


def main() -> None:
    """Follow the commands."""
    nodes = Nodes(Path(sys.argv[1]))
    try:
        for line in sys.stdin:
            command, *arguments = line.split()
            print(getattr(nodes, command)(*arguments), flush=True)
    finally:
        nodes.close()


if __name__ == "__main__":
    main()
