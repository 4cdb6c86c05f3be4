"""The choice of tests: tiers, the quarter of `make full` in CI, and missing programs.

`make check` runs the quick unit tests, `make test` all tests but those marked `full`, `make full`
all. CI adds to `make test` a quarter of what only `make full` has, chosen by the commit: of the
others, and of the property tests with all of their examples.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from typing import TypeVar

import pytest
from hypothesis import is_hypothesis_test
from xdist.scheduler import LoadFileScheduling

from tests.tiers import programs

LONG_FILES = (
    "test_kills.py",
    "test_bench.py",
    "test_advised_commands.py",
    "test_experiment_servers.py",
    "test_fleet.py",
    "test_sources.py",
    "test_own_workloads.py",
    "test_experiment_insert.py",
    "test_counting.py",
    "test_ferretdb.py",
    "test_mysqld_instances.py",
    "test_experiment.py",
    "test_calibration.py",
    "test_vector.py",
    "test_io_bound.py",
    "test_by_url.py",
    "test_waits.py",
)
"""Integration tests that take minutes, and begin first: at the end one process would wait."""
ON_SHARED_SERVERS = (
    "test_htap.py",
    "test_driver_servers.py",
    "test_perf.py",
    "test_preparation.py",
    "test_driver.py",
    "test_driver_insert.py",
    "test_driver_background.py",
    "test_described.py",
    "test_rows_and_pages.py",
)
"""Integration tests on `shared_servers`: one process runs them all, and starts a server once."""
_FIRST = ("integration", "browser")
"""Folders with long files; the many short ones of the others fill the end."""
SLOW_FILES = (
    "analysis/test_diff.py",
    "analysis/test_estimate.py",
    "analysis/test_hosts.py",
    "analysis/test_verdict.py",
    "bisect/test_experiments.py",
    "bisect/test_search.py",
    "builds/test_cache.py",
    "builds/test_compiling.py",
    "builds/test_debian.py",
    "builds/test_repository.py",
    "builds/test_wheel.py",
    "capacity/test_run.py",
    "capacity/test_search.py",
    "capacity/test_starts.py",
    "cli/test_any_bytes.py",
    "cli/test_completion.py",
    "cli/test_encodings.py",
    "cli/test_fleet_run.py",
    "cli/test_hostile_texts.py",
    "cli/test_keeping.py",
    "cli/test_killed.py",
    "cli/test_names.py",
    "cli/test_streams_and_names.py",
    "experiment/test_announced_times.py",
    "fleet/test_build_transfer.py",
    "fleet/test_lab.py",
    "insert/test_classic_tables.py",
    "insert/test_command.py",
    "plans/test_properties.py",
    "report/test_seams.py",
    "store/test_hostile_bundles.py",
    "sysbench/test_checks.py",
    "sysbench/test_damaged_tables.py",
    "sysbench/test_published_command.py",
    "unit/test_same_output.py",
    "unit/test_tiers.py",
    "watch/test_hooks.py",
    "workload/test_long_statements.py",
)
"""Unit tests that compile, start processes or simulate experiments: not in `make check`."""
full = pytest.mark.full
"""Marks a test, or a parameter, that only `make full` runs."""
_QUARTERS = 4
_NEEDS = "needs programs: "
_NO_CLIENT = re.compile(r"([\w-]+)(?: is|,) not installed")
"""The error of a build that needs a missing program."""
T = TypeVar("T")


def ends_first(values: Sequence[T]) -> list[T | object]:
    """Return parameters, oldest to newest: the first and the last in `make test`, all in `full`."""
    between = [pytest.param(value, marks=full) for value in values[1:-1]]
    return [values[0], *between, *values[1:][-1:]]


def needs(*names: str) -> pytest.MarkDecorator:
    """Skip a test on a machine without these programs, which are in the tables of `programs`."""
    programs.missing(*names)
    return pytest.mark.needs(*names)


def require(*names: str) -> None:
    """Skip the test that calls this on a machine without these programs."""
    if lacking := programs.missing(*names):
        pytest.skip(f"{_NEEDS}{', '.join(lacking)}")


def in_quarter(test: str, commit: str) -> bool:
    """Return whether a test belongs to the quarter of a commit (its hash, hexadecimal)."""
    return zlib.crc32(test.encode()) % _QUARTERS == int(commit, 16) % _QUARTERS


class MissingPrograms:
    """Says in the last line which programs were missing, and what brings them."""

    def __init__(self) -> None:
        self._tests = 0
        self._programs: set[str] = set()

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        for marker in item.iter_markers("needs"):
            require(*marker.args)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.skipped or not isinstance(report.longrepr, tuple):
            return
        if lacking := _lacking(report.longrepr[2].removeprefix("Skipped: ")):
            self._tests += 1
            self._programs.update(lacking)

    def line(self) -> str | None:
        """Return the line, None if nothing was missing."""
        if not self._tests:
            return None
        tests = "1 test" if self._tests == 1 else f"{self._tests} tests"
        names = ", ".join(sorted(self._programs))
        return f"skipped {tests} without {names}: `{programs.COMMAND}` installs what is missing"


def _lacking(reason: str) -> list[str]:
    """Return the programs without which a test is skipped for this reason."""
    if reason.startswith(_NEEDS):
        return reason.removeprefix(_NEEDS).split(", ")
    return [name for name in _NO_CLIENT.findall(reason) if programs.is_known(name)]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quarter",
        metavar="COMMIT",
        help="run only the quarter of what `make full` adds that belongs to this commit's hash",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "full: runs in `make full` alone")
    config.addinivalue_line("markers", "slow: not in `make check`")
    config.addinivalue_line("markers", "builds(contenders): those of `workplace`")
    config.addinivalue_line("markers", "needs(programs): skipped without them")
    config.pluginmanager.register(MissingPrograms(), "missing-programs")


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    missing = config.pluginmanager.getplugin("missing-programs")
    terminal = config.pluginmanager.getplugin("terminalreporter")
    if isinstance(missing, MissingPrograms) and (line := missing.line()) and terminal:
        terminal.write_line(line)


class _Scheduling(LoadFileScheduling):  # type: ignore[misc]
    """Gives a file to one process; so it does with files of one browser, or on shared servers."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        *_, folder, name = file.split("/")
        shares = folder == "browser" or (folder == "integration" and name in ON_SHARED_SERVERS)
        return folder if shares else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> _Scheduling | None:
    return _Scheduling(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at markers
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose the tests of a quarter, and let the files that take longest begin first."""
    if commit := config.getoption("--quarter"):
        others = [item for item in items if not _is_chosen(item, commit)]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if _is_chosen(item, commit)]
    for item in items:
        if "/".join(item.path.parts[-2:]) in SLOW_FILES:
            item.add_marker(pytest.mark.slow)
    items.sort(key=_place)


def _is_chosen(item: pytest.Item, commit: str) -> bool:
    return _full_adds_to(item) and in_quarter(item.nodeid, commit)


def _full_adds_to(item: pytest.Item) -> bool:
    """Return whether `make full` runs the test alone, or with more examples than `make test`."""
    if item.get_closest_marker("full") is not None:
        return True
    return isinstance(item, pytest.Function) and is_hypothesis_test(item.obj)


def _place(item: pytest.Item) -> tuple[int, int]:
    name, folder = item.path.name, item.path.parent.name
    order = (*ON_SHARED_SERVERS, *LONG_FILES)
    is_long = name in order and folder == "integration"
    return (
        order.index(name) if is_long else len(order),
        _FIRST.index(folder) if folder in _FIRST else len(_FIRST),
    )
