"""The installed `slowdust`, in a folder of its own."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import tomli_w

from slowdust.cli.main import main
from tests.waiting import wait_until

COMMAND = Path(sys.executable).with_name("slowdust")
LONG = "10m"
"""A budget that no test waits for."""
_WRONG_USE = 2
_UNMEASURED = frozenset(
    {"builds", "bundle", "explain", "history", "import", "merge", "report", "workloads"}
)
"""Commands that measure nothing."""
_SHORTEST = {
    "rows": 1000,
    "slice": "25ms",
    "warmup": "20ms",
    "budget": "1s",
    "incarnations": 2,
    "count": "off",
}
"""Options of a short experiment whose results do not matter."""


@dataclass
class Workplace:
    """A folder with results, and a data root whose processes and files can be looked at."""

    folder: Path

    @property
    def data_root(self) -> Path:
        return self.folder / "data"

    @property
    def environment(self) -> dict[str, str]:
        """The variables of its runs: no other experiment's claims are seen."""
        own = {"SLOWDUST_DATA": self.data_root, "SLOWDUST_CLAIMS": self.folder / "claims"}
        return {**os.environ, **{name: str(path) for name, path in own.items()}}

    def write_experiment(
        self, name: str, contenders: Sequence[str], *tests: str, **fields: object
    ) -> str:
        """Write the file of a short experiment; its name, for `slowdust run`."""
        file = self.folder / f"{name}.toml"
        what = {"contenders": [*contenders], "tests": [*tests]}
        file.write_text(tomli_w.dumps(what | _SHORTEST | fields))
        return file.name

    def leave_budget(self, name: str, seconds: float) -> None:
        """Set the budget of a stored experiment in seconds, for the command that resumes it."""
        budget = self.manifest(name).get("spent_s", 0.0) + seconds
        file = self.folder / "results" / name / "experiment.toml"
        file.write_text(re.sub(r'budget = ".*"', f'budget = "{budget:.1f}s"', file.read_text()))

    def run(self, *arguments: str, expect: int = 0) -> str:
        """Run to the end; standard output."""
        return self._ended(arguments, expect)[0]

    def errors(self, *arguments: str, expect: int = 0) -> str:
        """Run to the end; standard error."""
        return self._ended(arguments, expect)[1]

    def _ended(self, arguments: Sequence[str], expect: int) -> tuple[str, str]:
        if arguments[0] in _UNMEASURED or expect == _WRONG_USE:
            code, output, errors = self._called(arguments)
        else:
            process = self.start(*arguments)
            output, errors = process.communicate(timeout=600)
            code = process.returncode
        assert code == expect, f"exit code {code}\n{errors}"
        return output, errors

    def _called(self, arguments: Sequence[str]) -> tuple[object, str, str]:
        """Call a command that measures nothing in this process, which imports it once."""
        output, errors = io.StringIO(), io.StringIO()
        handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
        with (
            chdir(self.folder),
            patch.dict(os.environ, self.environment),
            patch.object(sys, "argv", ["slowdust", *arguments]),
            redirect_stdout(output),
            redirect_stderr(errors),
            pytest.raises(SystemExit) as ended,
        ):
            main()
        for number, handler in handlers.items():
            signal.signal(number, handler)
        return ended.value.code, output.getvalue(), errors.getvalue()

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [COMMAND, *arguments, *_patience(arguments)],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def report(self, name: str) -> dict[str, Any]:
        """What `slowdust report NAME --json` prints."""
        report: dict[str, Any] = json.loads(self.run("report", name, "--json"))
        return report

    def slice_lines(self, name: str) -> list[str]:
        file = self.folder / "results" / name / "slices.ndjson"
        return file.read_text().splitlines() if file.exists() else []

    def manifest(self, name: str) -> dict[str, Any]:
        text = (self.folder / "results" / name / "manifest.json").read_text()
        manifest: dict[str, Any] = json.loads(text)
        return manifest

    def page(self, name: str) -> str:
        return (self.folder / "results" / name / "report.html").read_text()

    def servers(self) -> list[int]:
        """Process ids whose working directory is in the data root."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if (process / "cwd").readlink().is_relative_to(self.data_root):
                    found.append(int(process.name))
            except OSError:
                continue
        return found

    def kill_server(self, contender: str) -> None:
        """Kill the server of a contender, if it is one process."""
        directories = {server: Path(f"/proc/{server}/cwd").readlink() for server in self.servers()}
        (server,) = (each for each, path in directories.items() if contender in str(path))
        os.kill(server, signal.SIGKILL)

    def nothing_is_left(self) -> bool:
        """Return whether no server runs and no instance's file is there."""
        instances = self.data_root / "instances"
        files = list(instances.glob("*/*")) if instances.exists() else []
        return not self.servers() and not files


def _patience(arguments: Sequence[str]) -> list[str]:
    """Return options that keep a busy machine from ending an experiment or skipping a count."""
    command, *others = arguments
    options = ["--yes"] if command in ("compare", "run", "more") else []
    if command in ("compare", "run") and not {"--count-budget", "--fleet"}.intersection(others):
        options += ["--count-budget", "10m"]
    return options


def wait_for_line(process: subprocess.Popen[str], start: str) -> None:
    """Read what a run says on standard error up to the line that begins so."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(start):
            return
    raise AssertionError(f"it ended and never said '{start}'")


def wait_for_slices(workplace: Workplace, name: str) -> None:
    wait_until(lambda: len(workplace.slice_lines(name)) >= 6, "six slices are on disk")


def stop_after_slices(
    workplace: Workplace, process: subprocess.Popen[str], name: str, number: signal.Signals
) -> str:
    """Send a signal once a few slices are on disk; what the process said on standard error."""
    wait_for_slices(workplace, name)
    process.send_signal(number)
    return process.communicate(timeout=60)[1]
