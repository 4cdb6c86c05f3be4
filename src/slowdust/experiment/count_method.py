"""The method of counting work: by the processor's counters, by valgrind, or not at all."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from slowdust.errors import SlowdustError
from slowdust.formats.perf_stat import read_events
from slowdust.store.count import Source
from slowdust.store.manifest import Counting

Wanted = Literal["auto", "pmu", "valgrind", "off"]
"""Values of `--count`."""

PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
INSTALL_VALGRIND = "sudo apt install valgrind gcc libc6-dev"
INSTALL_PERF = "sudo apt install linux-perf"
ALLOW_PERF = "sudo sysctl kernel.perf_event_paranoid=1"
ALLOW_SAMPLES = "sudo sysctl kernel.perf_event_paranoid=0"
_PROBE = "instructions:u"
_HEADERS = "#include <stdio.h>\n#include <valgrind/callgrind.h>\n"
_LIMIT_S = 30.0


@dataclass(frozen=True)
class Missing:
    """The reason why a source cannot count on this machine."""

    reason: str
    """A whole sentence."""
    remedy: str | None
    """The command that would allow it, if any."""

    def __str__(self) -> str:
        return self.reason if self.remedy is None else f"{self.reason} Allow it by `{self.remedy}`."


def choose_method(wanted: Wanted, sources: Sequence[Source] = ("pmu", "valgrind")) -> Counting:
    """Return how the work of the servers is counted on this machine.

    `auto` takes the first of `sources` that can count instructions in user mode here. If there is
    none, the result has the reasons and the command that would allow the last source.

    Raises:
        SlowdustError: the requested source cannot count on this machine.
    """
    if wanted == "off":
        return Counting(reason="Counting was switched off (`--count off`).")
    if wanted != "auto":
        version = _CHECKS[wanted]()
        if isinstance(version, Missing):
            raise SlowdustError(f"--count {wanted}: {version}")
        return Counting(source=wanted, version=version)
    missing: list[Missing] = []
    for source in sources:
        version = _CHECKS[source]()
        if not isinstance(version, Missing):
            reasons = " ".join(map(str, missing))
            return Counting(source=source, reason=reasons or None, version=version)
        missing.insert(0, version)
    return Counting(
        reason=" ".join(each.reason for each in missing),
        remedy=missing[0].remedy,  # valgrind's: valgrind can count on every machine
    )


def check_pmu() -> str | Missing:
    version = perf_version()
    if isinstance(version, Missing):
        return version
    done = _run(["perf", "stat", "-x,", "-e", _PROBE, "--", "true"])
    if done is None:
        return Missing("`perf stat` times out.", None)
    output = done.stderr
    if done.returncode == 0 and read_events(output).get(_PROBE, 0) > 0:
        return version
    if done.returncode != 0:
        return _refused(output, ALLOW_PERF)
    if "<not supported>" in output:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        machine = "virtual machine" if " hypervisor" in flags else "machine"
        return Missing(f"This {machine} has no PMU that counts instructions.", None)
    return Missing("perf cannot count instructions here.", None)


def check_sampling() -> str | Missing:
    version = perf_version()
    if isinstance(version, Missing):
        return version
    done = _run(["perf", "record", "-a", "-e", "cpu-clock", "-o", "-", "--", "true"])
    if done is None:
        return Missing("`perf record` times out.", None)
    return version if done.returncode == 0 else _refused(done.stderr, ALLOW_SAMPLES)


def _refused(output: str, remedy: str) -> Missing:
    if "ermission" in output or "paranoid" in output:
        level = PARANOID.read_text(encoding="utf-8").strip() if PARANOID.exists() else "unknown"
        return Missing(
            f"The kernel does not allow this account to use perf (perf_event_paranoid is {level}).",
            remedy,
        )
    return Missing(f"perf fails here: {' '.join(output.split())[-200:]}", None)


def perf_version() -> str | Missing:
    done = _run(["perf", "--version"])
    if done is None or done.returncode != 0:
        return Missing("perf is not installed for this kernel.", INSTALL_PERF)
    return f"perf {done.stdout.strip().removeprefix('perf version').strip()}"


def check_valgrind() -> str | Missing:
    done = _run(["valgrind", "--version"])
    if done is None or done.returncode != 0:
        return Missing("valgrind is not installed.", INSTALL_VALGRIND)
    version = done.stdout.strip().replace("valgrind-", "valgrind ")
    compiled = _run(["cc", "-E", "-"], _HEADERS)
    if compiled is None:
        return Missing(
            "There is no C compiler; counting with valgrind needs one.", INSTALL_VALGRIND
        )
    if compiled.returncode != 0:
        return Missing(
            "The headers of valgrind (valgrind/callgrind.h) or of the C library are missing.",
            INSTALL_VALGRIND,
        )
    return version


_CHECKS: Mapping[Source, Callable[[], str | Missing]] = {
    "pmu": check_pmu,
    "valgrind": check_valgrind,
}


def _run(command: Sequence[str], text: str = "") -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(
            command,
            input=text,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "LC_ALL": "C"},
            timeout=_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
