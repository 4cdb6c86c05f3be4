"""The checks of the host, on simulated machines."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from slowdust.experiment.doctor import CHECKS, cpu, disk, kernel, load, memory, tools, worse
from slowdust.experiment.doctor.host import Check, Host, Syncs, read_host, time_syncs
from slowdust.probes.host.machine import BusyProcess
from slowdust.store.finding import Finding, Severity, by_severity
from tests.unit.synthetic_host import GIB, GOOD

GOOD_FILES = {
    "proc/sys/vm/swappiness": "60",
    "proc/sys/kernel/numa_balancing": "0",
    "proc/sys/kernel/randomize_va_space": "2",
    "proc/sys/kernel/perf_event_paranoid": "-1",
    "proc/sys/kernel/kptr_restrict": "0",
    "proc/sys/kernel/ostype": "Linux",
    "proc/self/cgroup": "0::/user.slice/session.scope",
    "sys/fs/cgroup/cgroup.controllers": "cpu memory",
    "sys/fs/cgroup/user.slice/cpu.max": "max 100000",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
    "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_min_freq": "800000",
    "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "3600000",
    "sys/devices/system/cpu/cpu0/cpufreq/base_frequency": "3000000",
}
GOOD_SYNCS = Syncs(200, 0.0005, 0.002)
_OF_THE_HOST = [check for check in CHECKS if check not in tools.CHECKS]
"""The checks that try no program of this machine."""


def host(
    root: Path,
    change: Mapping[str, Any] | None = None,
    files: Mapping[str, str | None] | None = None,
    syncs: Syncs = GOOD_SYNCS,
    open_files: tuple[int, int] = (65536, 65536),
) -> Host:
    """Return a good host, with changes of its machine or storage and of its kernel files."""
    change = change or {}
    storage = dataclasses.replace(
        GOOD.storage, **{key[8:]: v for key, v in change.items() if key.startswith("storage.")}
    )
    own = {key: value for key, value in change.items() if not key.startswith("storage.")}
    for path, text in {**GOOD_FILES, **(files or {})}.items():
        if text is not None:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text + "\n")
    return Host(
        machine=dataclasses.replace(GOOD, storage=storage, **own),
        root=root,
        syncs=lambda _: syncs,
        program=lambda _: None,
        open_files=open_files,
    )


def test_a_good_host_has_only_good_states(tmp_path: Path) -> None:
    good = host(tmp_path)
    findings = [check(good) for check in _OF_THE_HOST]
    assert [f for f in findings if f.severity is not Severity.OK] == []
    assert len({finding.check for finding in findings}) == len(findings)


_NODE_FILES: dict[str, str | None] = {"proc/sys/kernel/numa_balancing": "1"}
_CLOCK = "sys/devices/system/clocksource/clocksource0/current_clocksource"


class Case(NamedTuple):
    """A bad state, and what is to be said of it."""

    check: Check
    change: dict[str, Any]
    """Changes of the good machine; keys of its storage begin with `storage.`."""
    files: dict[str, str | None]
    """Changes of the good kernel files; None: there is no such file."""
    severity: str
    words: str
    mends: str


BAD_STATES = [
    Case(
        cpu.governor,
        {"governors": ("performance", "schedutil")},
        {},
        "problem",
        "governor is schedutil",
        "cpupower",
    ),
    Case(cpu.turbo, {"turbo": True}, {}, "warning", "up to 20% here", "cpufreq/boost"),
    Case(
        cpu.turbo,
        {"turbo": True, "cpu_model": "Intel Xeon"},
        {},
        "warning",
        "Turbo is on",
        "intel_pstate/no_turbo",
    ),
    Case(cpu.threads, {"smt": True}, {}, "warning", "share a core", "smt/control"),
    Case(cpu.nodes, {"numa_nodes": 2}, {}, "note", "2 NUMA nodes", "--cpus"),
    Case(
        cpu.numa_balancing,
        {"numa_nodes": 2},
        _NODE_FILES,
        "warning",
        "moves them",
        "numa_balancing=0",
    ),
    Case(cpu.clock_source, {}, {_CLOCK: "hpet"}, "warning", "is hpet", "echo tsc"),
    Case(memory.huge_pages, {"huge_pages": "always"}, {}, "warning", "always on", "echo madvise"),
    Case(
        memory.swap,
        {"swap_bytes": GIB, "swap_used_bytes": GIB // 2},
        {},
        "warning",
        "0.5 GiB of 1.0 GiB",
        "swapoff",
    ),
    Case(memory.swappiness, {"swap_bytes": GIB}, {}, "note", "is 60", "swappiness=1"),
    Case(
        memory.available,
        {"available_bytes": 2 * GIB},
        {},
        "problem",
        "2.0 GiB of 32.0 GiB",
        "ps aux",
    ),
    Case(
        memory.group_limit,
        {},
        {"sys/fs/cgroup/user.slice/memory.max": str(GIB)},
        "note",
        "to 1.0 GiB",
        "--memory",
    ),
    Case(
        memory.group_limit,
        {},
        {
            "proc/self/cgroup": "4:memory:/docker/1",
            "sys/fs/cgroup/cgroup.controllers": None,
            "sys/fs/cgroup/memory/memory.limit_in_bytes": str(2 * GIB),
        },
        "note",
        "to 2.0 GiB",
        "--memory",
    ),
    Case(
        load.cpu_limit,
        {},
        {"sys/fs/cgroup/user.slice/cpu.max": "150000 100000"},
        "problem",
        "to 1.5 CPUs",
        "--cpus",
    ),
    Case(
        load.cpu_limit,
        {},
        {
            "proc/self/cgroup": "3:cpu,cpuacct:/docker/1",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
        },
        "problem",
        "to 0.5 CPUs",
        "--cpus",
    ),
    Case(
        load.other_programs,
        {"busy": (BusyProcess(7, "make", 0.5),)},
        {},
        "warning",
        "make (pid 7)",
        "kill -STOP 7",
    ),
    Case(
        load.other_programs,
        {"busy": (BusyProcess(7, "make", 2.5),)},
        {},
        "problem",
        "31% ",
        "kill -STOP 7",
    ),
    Case(load.load_average, {"load_average": (9.0, 5.0, 1.0)}, {}, "warning", "9.00, 5.00", "top"),
    Case(load.steal, {"virtualised": True, "steal_share": 0.03}, {}, "warning", "3.00%", "vmstat"),
    Case(load.usable_cpus, {"usable_cpus": 4}, {}, "note", "4 of 8", "taskset"),
    Case(
        disk.free_space,
        {"storage.free_bytes": 2 * GIB},
        {},
        "problem",
        "2.0 GiB of",
        "du -xh --max-depth=2 /data",
    ),
    Case(
        disk.filesystem,
        {"storage.filesystem": "tmpfs"},
        {},
        "problem",
        "in memory",
        "SLOWDUST_DATA",
    ),
    Case(
        disk.filesystem,
        {"storage.mount_options": ("rw", "sync")},
        {},
        "problem",
        "with sync",
        "remount,async /data",
    ),
    Case(
        disk.access_times,
        {"storage.mount_options": ("rw",)},
        {},
        "note",
        "access times",
        "noatime /data",
    ),
    Case(
        disk.scheduler,
        {"storage.scheduler": "bfq"},
        {},
        "warning",
        "of sda is bfq",
        "/sys/block/sda/queue/scheduler",
    ),
    Case(disk.read_ahead, {"storage.readahead_kib": 8192}, {}, "note", "8192 KiB", "read_ahead_kb"),
    Case(
        disk.largest_request,
        {"storage.max_sectors_kib": 64},
        {},
        "note",
        "64 KiB",
        "max_sectors_kb",
    ),
    Case(
        kernel.random_addresses,
        {},
        {"proc/sys/kernel/randomize_va_space": "0"},
        "note",
        "ASLR is off",
        "randomize_va_space=2",
    ),
    Case(
        kernel.perf_paranoia,
        {},
        {"proc/sys/kernel/perf_event_paranoid": "3"},
        "note",
        "is 3",
        "perf_event_paranoid=1",
    ),
    Case(
        kernel.kernel_pointers,
        {},
        {"proc/sys/kernel/kptr_restrict": "1"},
        "note",
        "is 1",
        "kptr_restrict=0",
    ),
    Case(
        kernel.tracing,
        {},
        {"proc/sys/kernel/yama/ptrace_scope": "1"},
        "note",
        "is 1",
        "ptrace_scope=0",
    ),
]


@pytest.mark.parametrize("case", BAD_STATES)
def test_a_bad_state_is_named_with_its_severity_and_the_command_that_mends_it(
    tmp_path: Path, case: Case
) -> None:
    finding = case.check(host(tmp_path, case.change, case.files))
    assert finding.severity == case.severity
    assert case.words in f"{finding.state} {finding.effect}"
    assert finding.effect
    assert case.mends in (finding.remedy or "")


@pytest.mark.parametrize(
    ("syncs", "severity", "words"),
    [
        (Syncs(200, 0.0005, 0.002), "ok", "about 2,000 commits/s"),
        (Syncs(50, 0.01, 0.03), "warning", "10.0 ms"),
        (Syncs(200, 0.0005, 0.05), "note", "50.0 ms"),
        (Syncs(200, 0.000002, 0.00001), "note", "disk"),
    ],
)
def test_the_speed_of_fsync_bounds_commits(
    tmp_path: Path, syncs: Syncs, severity: str, words: str
) -> None:
    finding = disk.sync_speed(host(tmp_path, syncs=syncs))
    assert finding.severity == severity
    assert words in f"{finding.state} {finding.effect}"


def test_a_disk_that_cannot_be_written_to_is_unknown(tmp_path: Path) -> None:
    def refuse(directory: Path) -> Syncs:
        raise PermissionError(13, "Permission denied", str(directory))

    finding = disk.sync_speed(dataclasses.replace(host(tmp_path), syncs=refuse))
    assert finding.severity is Severity.UNKNOWN
    assert "Permission denied" in finding.state


def test_unreadable_facts_are_unknown_and_never_good(tmp_path: Path) -> None:
    storage = dataclasses.replace(
        GOOD.storage, filesystem=None, mount_options=(), scheduler=None, readahead_kib=None,
        max_sectors_kib=None,
    )  # fmt: skip
    blind = dataclasses.replace(
        GOOD, microcode=None, cpus=None, numa_nodes=None, governors=(), turbo=None, smt=None,
        huge_pages=None, virtualised=None, storage=storage, swap_bytes=GIB,
    )  # fmt: skip
    nothing = Host(
        machine=blind, root=tmp_path, syncs=lambda _: Syncs(1, 0.001, 0.001), open_files=(9999, -1)
    )
    findings = {check(nothing).check: check(nothing) for check in _OF_THE_HOST}
    known = {name for name, finding in findings.items() if finding.severity is Severity.OK}
    assert known == {
        *("Other programs", "Load", "Swap", "Free memory", "Free disk", "Speed of fsync"),
        *("Open files", "Kernel"),
    }
    rest = [finding for name, finding in findings.items() if name not in known]
    assert {finding.severity for finding in rest} == {Severity.UNKNOWN}


def test_few_open_files_are_a_warning_with_the_hard_limit(tmp_path: Path) -> None:
    finding = kernel.open_files(host(tmp_path, open_files=(1024, 524288)))
    assert (finding.severity, finding.remedy) == (Severity.WARNING, "ulimit -n 524288")


def test_a_missing_program_is_a_note_with_what_installs_it(tmp_path: Path) -> None:
    strace = tools.program("strace", ("strace",), "Tracing", "strace")
    absent = host(tmp_path)
    assert strace(absent).remedy == "sudo apt install strace"
    there = dataclasses.replace(absent, program=lambda name: f"/bin/{name}")
    assert strace(there).severity is Severity.OK


def _finding(check: str, severity: Severity, state: str = "") -> Finding:
    return Finding(check=check, severity=severity, state=state)


def test_findings_are_sorted_by_severity() -> None:
    mixed = [_finding("a", Severity.OK), _finding("b", Severity.NOTE), _finding("c", Severity.OK)]
    assert [finding.check for finding in by_severity(mixed)] == ["b", "a", "c"]


def test_of_two_starts_of_an_experiment_the_worse_state_counts() -> None:
    before = [_finding("a", Severity.WARNING, "then"), _finding("b", Severity.OK, "then")]
    now = [_finding("a", Severity.OK, "now"), _finding("b", Severity.PROBLEM, "now")]
    assert [(f.check, f.state) for f in worse(before, now)] == [("b", "now"), ("a", "then")]
    assert worse([], now) == by_severity(now), "an experiment of before there were findings"
    assert [f.check for f in worse(before[1:], now[:1])] == ["a", "b"]


def test_syncs_of_this_machine_take_time(tmp_path: Path) -> None:
    syncs = time_syncs(tmp_path)
    assert syncs.number >= 1
    assert 0 < syncs.median_s <= syncs.slowest_s


def test_this_host_can_be_read(tmp_path: Path) -> None:
    here = read_host(tmp_path)
    findings = [check(here) for check in _OF_THE_HOST]
    assert len(findings) == len(_OF_THE_HOST)
    assert here.text("proc/sys/kernel/ostype") == "Linux"
