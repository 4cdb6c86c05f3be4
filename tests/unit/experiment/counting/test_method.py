"""The choice of counting, with fake perf, valgrind and cc."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from slowdust.errors import SlowdustError
from slowdust.experiment.count_method import (
    ALLOW_PERF,
    INSTALL_PERF,
    INSTALL_VALGRIND,
    choose_method,
)

Install = Callable[[str, str], None]

_VALGRIND = 'echo "valgrind-3.19.0"'
_COMPILER = "cat > /dev/null"
_NO_HEADER = "cat > /dev/null; echo 'fatal error: valgrind/callgrind.h' >&2; exit 1"


def _perf(answer: str, code: int = 0) -> str:
    return f"""case "$1" in
--version) echo "perf version 6.1.187" ;;
*) echo "{answer}" >&2; exit {code} ;;
esac"""


_PMU = _perf("152340,,instructions:u,301200,100.00,,")
_NO_PMU = _perf("<not supported>,,instructions:u,0,100.00,,")
_NO_PERMISSION = _perf("Error: Access to performance monitoring is limited: paranoid", 255)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Leave nothing on PATH but a shell's own needs; return what puts a program there."""
    (tmp_path / "cat").symlink_to("/bin/cat")
    monkeypatch.setenv("PATH", str(tmp_path))

    def put(name: str, script: str) -> None:
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    return put


def test_the_processor_counts_where_it_can(install: Install) -> None:
    install("perf", _PMU)
    install("valgrind", _VALGRIND)
    counting = choose_method("auto")
    assert (counting.source, counting.reason) == ("pmu", None)
    assert counting.version == "perf 6.1.187"


def test_valgrind_counts_where_there_is_no_pmu(install: Install) -> None:
    install("perf", _NO_PMU)
    install("valgrind", _VALGRIND)
    install("cc", _COMPILER)
    counting = choose_method("auto")
    assert counting.source == "valgrind"
    assert counting.version == "valgrind 3.19.0"
    assert counting.reason is not None
    assert "no PMU" in counting.reason


@pytest.mark.parametrize(
    ("programs", "reason"),
    [
        ({}, "valgrind is not installed. perf is not installed"),
        ({"valgrind": _VALGRIND}, "There is no C compiler"),
        ({"valgrind": _VALGRIND, "cc": _NO_HEADER}, "valgrind/callgrind.h"),
    ],
)
def test_nothing_counts_with_a_reason_and_a_remedy(
    install: Install, programs: dict[str, str], reason: str
) -> None:
    for name, script in programs.items():
        install(name, script)
    counting = choose_method("auto")
    assert counting.source is None
    assert counting.reason is not None
    assert reason in counting.reason
    assert counting.remedy == INSTALL_VALGRIND


def test_a_source_that_is_wanted_and_missing_is_refused(install: Install) -> None:
    with pytest.raises(SlowdustError, match=INSTALL_PERF):
        choose_method("pmu")
    install("perf", _NO_PERMISSION)
    with pytest.raises(SlowdustError, match=ALLOW_PERF):
        choose_method("pmu")
    install("perf", _NO_PMU)
    with pytest.raises(SlowdustError, match="no PMU"):
        choose_method("pmu")
    with pytest.raises(SlowdustError, match=INSTALL_VALGRIND):
        choose_method("valgrind")


def test_nothing_is_asked_for_where_counting_is_off(install: Install) -> None:
    install("perf", _PMU)
    counting = choose_method("off")
    assert counting.source is None
    assert counting.reason is not None
    assert counting.remedy is None
