"""The choice of tests, the records of their runs, and the line about missing programs."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tiers.durations import Reasons, by_file, read, table
from tests.tiers.selection import ends_first, in_quarter, needs

ROOT = Path(__file__).parents[2]
CONFTEST = 'pytest_plugins = ("tests.tiers.durations", "tests.tiers.selection")\n'
TESTS = """
import pytest
from hypothesis import given
from hypothesis.strategies import booleans
from tests.tiers.selection import ends_first, full, needs

@full
def test_of_full():
    pass

@pytest.mark.parametrize("version", ends_first(["1", "2", "3"]))
def test_of_versions(version):
    pass

@needs("valgrind")
def test_without_a_program():
    raise AssertionError

def test_without_the_client_of_a_source():
    pytest.skip("cannot get it: tried npm x (npm is not installed); apt y (y is not installed)")

@given(booleans())
def test_of_a_property(value):
    pass
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a few tests that are run by the same plugins."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {ROOT}\n")
    (folder / "test_few.py").write_text(TESTS)
    return folder


def run(project: Path, *arguments: str) -> list[str]:
    """Run pytest on a machine without programs; return its lines."""
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *arguments],
        cwd=project,
        env={"PATH": str(project), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        check=False,
        capture_output=True,
        text=True,
    )
    return ended.stdout.splitlines()


def passed(lines: list[str]) -> set[str]:
    return {line.rpartition("::")[2] for line in lines if line.startswith("PASSED")}


def test_test_excludes_what_only_full_has(project: Path) -> None:
    assert passed(run(project, "-m", "not full")) == {
        *("test_of_versions[1]", "test_of_versions[3]", "test_of_a_property")
    }


def test_a_quarter_is_of_what_only_full_has(project: Path) -> None:
    only_full = {"test_of_full", "test_of_versions[2]", "test_of_a_property"}
    expected = {name for name in only_full if in_quarter(f"test_few.py::{name}", "abc1")}
    assert passed(run(project, "--quarter", "abc1")) == expected != set()


def test_a_test_is_in_one_quarter() -> None:
    for name in ("tests/a.py::test_a", "tests/b.py::test_b[1]"):
        assert [in_quarter(name, f"{commit:x}") for commit in range(4)].count(True) == 1


def test_full_runs_all_records_it_and_names_missing_programs_last(project: Path) -> None:
    for old in (project / "target").rglob("*.json"):
        old.unlink()
    lines = run(project)
    assert len(passed(lines)) == 5
    assert all(part in lines[-1] for part in ("2 tests", "npm, valgrind:", "make tools"))
    (record,) = (project / "target" / "durations").glob("*.json")
    tests = read(record)
    assert {test.outcome for test in tests} == {"passed", "skipped"}
    assert len(tests) == 7
    assert table(by_file(tests), 1)[1].endswith("test_few.py")


def test_only_programs_that_can_be_installed_may_be_needed() -> None:
    with pytest.raises(KeyError):
        needs("no-such-program")


@pytest.mark.parametrize(
    ("versions", "ends"), [(["1"], ["1"]), (["1", "2"], ["1", "2"]), (["1", "2", "3"], ["1", "3"])]
)
def test_test_has_the_oldest_and_the_newest(versions: list[str], ends: list[str]) -> None:
    assert [value for value in ends_first(versions) if isinstance(value, str)] == ends


@pytest.fixture
def reasons() -> Iterator[Reasons]:
    sampled = Reasons()
    yield sampled
    sampled.stop()


def test_seconds_match_the_program_that_runs(reasons: Reasons, tmp_path: Path) -> None:
    compiler = tmp_path / "cc"
    shutil.copy(shutil.which("sleep") or "/bin/sleep", compiler)
    seconds: dict[str, float] = {}
    with subprocess.Popen([compiler, "60"]) as process:
        while not seconds.get("compile"):
            time.sleep(0.05)
            seconds = reasons.take()
        process.kill()


def test_seconds_after_a_kill_match_the_kill(reasons: Reasons) -> None:
    seconds: dict[str, float] = {}
    while not seconds.get("kill"):
        with subprocess.Popen([shutil.which("sleep") or "/bin/sleep", "60"]) as process:
            process.kill()
        time.sleep(0.3)
        seconds = reasons.take()
