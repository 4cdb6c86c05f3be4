"""Record how long each test took, and for what; `python -m tests.tiers.durations` prints it.

Each run writes target/durations/TIME.json: seconds of all tests, each with its seconds by reason,
and the CPU seconds of the test's process and of the programs that ended in it.
The reason of a moment is read from the programs that run below the test's process, every half
second: a test of the whole command says no more by itself.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[2]
FOLDER = Path("target") / "durations"
_KEPT = 30
_EVERY_S = 0.5
_PROPERTY = "seconds_by_reason"
_CPU = "cpu_seconds"
_SERVERS = frozenset({"postgres", "mysqld", "mariadbd", "ferretdb", "mongod"})
_ENDING = frozenset({signal.SIGKILL, signal.SIGINT, signal.SIGTERM})

PROGRAMS: Mapping[str, frozenset[str]] = {
    "Ray": frozenset({"raylet", "gcs_server"}),
    "compile": frozenset(
        {"cc", "cc1", "cc1plus", "gcc", "g++", "c++", "as", "ld", "collect2"}
        | {"make", "ninja", "meson", "cmake", "cargo", "rustc", "go"}
    ),
    "fetch": frozenset({"npm", "node", "mvn", "java", "apt-get", "pip"}),
    "count": frozenset({"callgrind-amd64", "valgrind", "memcheck-amd64-"}),
    "browser": frozenset({"chromium", "firefox-esr", "chromedriver", "geckodriver"}),
    "budget": frozenset({"slowdust-driver"}),
    "server start": _SERVERS | {"initdb", "mariadb-install-", "mysql_install_db"},
}
"""Reasons by the names of programs (the kernel's 15 characters); the first that runs decides.

A server without the driver starts, stops, is loaded by SQL or maintained.
"""
REASONS = (*PROGRAMS, "kill", "Python")


@dataclass(frozen=True)
class TestDuration:
    """Seconds of one test, with its set-up and what was put away after it."""

    __test__ = False

    test: str
    outcome: str
    seconds: float
    by_reason: dict[str, float] = field(default_factory=dict)
    cpu: float = 0.0

    @property
    def file(self) -> str:
        return self.test.partition("::")[0]


class Reasons:
    """Seconds of the present test by reason, read by a thread."""

    def __init__(self) -> None:
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._killed = False
        self._cpu = _cpu_seconds()
        self._stopped = threading.Event()
        sys.addaudithook(self._audit)
        threading.Thread(target=self._sample, daemon=True).start()

    def take(self) -> dict[str, float]:
        """Return what was read since the last call."""
        taken, self._seconds, self._killed = self._seconds, defaultdict(float), False
        return {reason: round(seconds, 2) for reason, seconds in taken.items()}

    def take_cpu(self) -> float:
        """Return the CPU seconds since the last call."""
        before, self._cpu = self._cpu, _cpu_seconds()
        return round(self._cpu - before, 2)

    def stop(self) -> None:
        """Read no more."""
        self._stopped.set()

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if event not in ("os.kill", "os.killpg") or arguments[1] not in _ENDING:
            return
        # Servers are stopped by signals in every test of an instance.
        self._killed = self._killed or _name(arguments[0]) not in _SERVERS

    def _sample(self) -> None:
        last = time.monotonic()
        while not self._stopped.wait(_EVERY_S):
            reason = "kill" if self._killed else self._reason_now()
            now = time.monotonic()
            self._seconds[reason] += now - last
            last = now

    def _reason_now(self) -> str:
        names = _names_below(os.getpid())
        return next((reason for reason, known in PROGRAMS.items() if names & known), "Python")


def _cpu_seconds() -> float:
    return sum(os.times()[:4])


def _names_below(ancestor: int) -> set[str]:
    """Return the names of the programs below a process, in one reading of /proc."""
    names, children = {}, defaultdict(list)
    for process in psutil.pids():
        with suppress(OSError):
            begin, _, rest = Path(f"/proc/{process}/stat").read_text().rpartition(")")
            names[process] = begin.partition("(")[2]
            children[int(rest.split(maxsplit=2)[1])].append(process)
    below = [*children[ancestor]]
    for process in below:
        below += children[process]
    return {names[process] for process in below}


def _name(pid: object) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


class Recorder:
    """The plugin: measures in each worker, and writes in the process that collects."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._reasons: Reasons | None = None
        self._tests: dict[str, TestDuration] = {}
        self._begun = time.time()

    def pytest_runtest_setup(self) -> None:
        # Only where tests run: the process that hands them out to workers has no reasons.
        self._reasons = self._reasons or Reasons()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        if call.when == "teardown" and self._reasons:
            item.user_properties.append((_PROPERTY, self._reasons.take()))
            item.user_properties.append((_CPU, self._reasons.take_cpu()))
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        so_far = self._tests.get(report.nodeid, TestDuration(report.nodeid, "passed", 0.0))
        outcome = so_far.outcome if report.outcome == "passed" else report.outcome
        properties = dict(report.user_properties)
        self._tests[report.nodeid] = TestDuration(
            report.nodeid,
            outcome,
            round(so_far.seconds + report.duration, 3),
            properties.get(_PROPERTY, {}),  # type: ignore[arg-type]
            properties.get(_CPU, 0.0),  # type: ignore[arg-type]
        )

    def pytest_sessionfinish(self) -> None:
        if hasattr(self._config, "workerinput") or not self._tests:
            return
        folder = self._config.rootpath / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        record = {
            "arguments": list(self._config.invocation_params.args),
            "begun": self._begun,
            "seconds": round(time.time() - self._begun, 1),
            "load": os.getloadavg()[0],
            "tests": [asdict(test) for test in self._tests.values()],
        }
        name = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(self._begun))
        (folder / f"{name}-{os.getpid()}.json").write_text(json.dumps(record, indent=1))
        for old in sorted(folder.glob("*.json"))[:-_KEPT]:
            old.unlink(missing_ok=True)


def pytest_configure(config: pytest.Config) -> None:
    """Record every run, but one that only collects."""
    if not config.option.collectonly:
        config.pluginmanager.register(Recorder(config), "durations")


def read(path: Path) -> list[TestDuration]:
    """Return the tests of a record."""
    return [TestDuration(**test) for test in json.loads(path.read_text())["tests"]]


def by_file(tests: Iterable[TestDuration]) -> dict[str, dict[str, float]]:
    """Return seconds of each file by reason; `total` is what pytest measured, `CPU` of all."""
    files: dict[str, dict[str, float]] = {}
    for test in tests:
        seconds = files.setdefault(test.file, {})
        for reason, part in (*test.by_reason.items(), ("total", test.seconds), ("CPU", test.cpu)):
            seconds[reason] = seconds.get(reason, 0.0) + part
    return files


def table(files: Mapping[str, Mapping[str, float]], most: int) -> list[str]:
    """Return lines of the longest files and of all of them, seconds by reason."""
    widths = {reason: max(len(reason), 6) for reason in ("CPU", *REASONS)}
    head = "  ".join(f"{reason:>{width}}" for reason, width in widths.items())
    longest = sorted(files.items(), key=lambda item: -item[1]["total"])
    columns = (*widths, "total")
    total = {column: sum(x.get(column, 0.0) for x in files.values()) for column in columns}

    def row(name: str, seconds: Mapping[str, float]) -> str:
        cells = (
            f"{seconds[reason]:>{width}.0f}" if seconds.get(reason, 0) >= 0.5 else " " * width
            for reason, width in widths.items()
        )
        return f"{seconds.get('total', 0):7.0f}  {'  '.join(cells)}  {name}"

    rows = [row(name, seconds) for name, seconds in longest[:most]]
    return [f"seconds  {head}  file", *rows, row(f"all {len(files)} files", total)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the longest files and tests of a recorded run."""
    parser = argparse.ArgumentParser(
        prog="tests.tiers.durations",
        description="Print the slowest tests of a run, by file and by reason.",
    )
    parser.add_argument("record", nargs="?", type=Path, help="a record  [largest of the last 5]")
    parser.add_argument("--most", type=int, default=25, help="files and tests to print  [25]")
    options = parser.parse_args(arguments)
    record = options.record or _newest()
    if record is None:
        print(f"no run is recorded in {FOLDER}: run make test")
        return 1
    tests = read(record)
    print(f"{record.name}: {len(tests)} tests")
    print(*table(by_file(tests), options.most), "", sep="\n")
    for test in sorted(tests, key=lambda test: -test.seconds)[: options.most]:
        main_reason = max(test.by_reason, key=lambda x: test.by_reason[x], default="Python")
        print(f"{test.seconds:7.1f}  {main_reason:12}  {test.test}")
    return 0


def _newest() -> Path | None:
    """Return the largest of the last records, so that a test run by hand hides no whole run."""
    newest = sorted((ROOT / FOLDER).glob("*.json"))[-5:]
    return max(newest, key=lambda path: path.stat().st_size, default=None)


if __name__ == "__main__":
    sys.exit(main())
