"""Experiments on the nodes of a Ray cluster on this machine, through the command line."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.integration.slowdust_command import Workplace

OLD, NEW = "sqlite@3.17.0", "sqlite@3.50.2"
SPEC = """
rows = 1000
slice = "25ms"
count = "off"
"""


class Fleet:
    """The nodes of a cluster, and experiments on it."""

    def __init__(self, folder: Path) -> None:
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16)}
        prompt = {"RAY_health_check_period_ms": "500", "RAY_health_check_failure_threshold": "3"}
        self._variables = {**token, **prompt, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
        self.workplace = FleetWorkplace(folder, self._variables)
        self._nodes = subprocess.Popen(
            [sys.executable, "-m", "tests.integration.ray_nodes", str(folder)],
            env={**os.environ, **self._variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._hosts: set[str] = set()
        self.address = self.tell("head")

    def tell(self, command: str) -> str:
        """Give the program of the nodes a command; its answer."""
        assert self._nodes.stdin is not None
        assert self._nodes.stdout is not None
        print(command, file=self._nodes.stdin, flush=True)
        return self._nodes.stdout.readline().strip()

    def has(self, *hosts: str) -> None:
        """Start and kill hosts so that these are there."""
        for name in {*self._hosts} - {*hosts}:
            self.kill(name)
        for host in {*hosts} - self._hosts:
            self.tell(f"host {host}")
            self._hosts.add(host)

    def kill(self, name: str) -> None:
        """End all of a host by SIGKILL."""
        self.tell(f"kill {name}")
        self._hosts.remove(name)

    def arguments(self, *more: str) -> list[str]:
        return ["run", *more, "--fleet", self.address, "--unfit"]

    def write(
        self, name: str, tests: list[str], budget: str, incarnations: int, base: str = OLD
    ) -> str:
        file = self.workplace.folder / f"{name}.toml"
        contenders = f"contenders = {json.dumps([base, NEW])}\ntests = {json.dumps(tests)}\n"
        file.write_text(f'{SPEC}{contenders}budget = "{budget}"\nincarnations = {incarnations}\n')
        return file.name

    def record(self, name: str) -> dict[str, Any]:
        path = self.workplace.folder / "results" / f"{name}.fleet" / "fleet.json"
        record: dict[str, Any] = json.loads(path.read_text())
        return record

    def received(self, name: str, host: str = "*") -> int:
        """The slices that the head has from hosts."""
        hosts = self.workplace.folder / "results" / f"{name}.fleet" / "hosts"
        return sum(len(p.read_bytes().splitlines()) for p in hosts.glob(f"{host}/*/slices.ndjson"))

    def close(self) -> None:
        assert self._nodes.stdin is not None
        self._nodes.stdin.close()
        assert self._nodes.wait(60) == 0


class FleetWorkplace(Workplace):
    """A workplace whose commands know the cluster's token."""

    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        super().__init__(folder)
        self._variables = variables

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, **self._variables}

    def has_each_slice_once(self, name: str) -> bool:
        lines = map(json.loads, self.slice_lines(name))
        places = [json.dumps(line["place"], sort_keys=True) for line in lines]
        return len({*places}) == len(places)


@contextmanager
def running_fleet() -> Iterator[Fleet]:
    """Start the head's node; it and the hosts that join end with the context."""
    # Sockets of Ray have long names below this.
    with tempfile.TemporaryDirectory(prefix="sd-fleet-") as directory:
        Path(directory).chmod(0o755)
        fleet = Fleet(Path(directory))
        try:
            yield fleet
        finally:
            fleet.close()
