from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from slowdust.probes.host.advice import facts, warnings
from slowdust.probes.host.machine import BusyProcess, Machine, Storage, chosen, read_machine

GIB = 1 << 30

GOOD = Machine(
    cpu_model="AMD EPYC",
    microcode="0x1",
    cpus=8,
    cores=8,
    usable_cpus=8,
    numa_nodes=1,
    governors=("performance",),
    turbo=False,
    smt=False,
    memory_bytes=32 * GIB,
    available_bytes=30 * GIB,
    swap_bytes=0,
    swap_used_bytes=0,
    huge_pages="madvise",
    huge_pages_defrag="madvise",
    operating_system="Debian",
    kernel="6.1",
    virtualised=False,
    load_average=(0.1, 0.2, 0.3),
    steal_share=None,
    busy=(),
    storage=Storage(
        directory=Path("/data/pg"),
        free_bytes=100 * GIB,
        total_bytes=200 * GIB,
        filesystem="xfs",
        mount_point="/data",
        mount_options=("rw", "noatime"),
        device="sda1",
        disk="sda",
        scheduler="none",
        readahead_kib=128,
        max_sectors_kib=1280,
    ),
)


def test_a_good_machine_has_no_warnings() -> None:
    assert warnings(GOOD) == []


@pytest.mark.parametrize(
    ("change", "names", "mends"),
    [
        ({"governors": ("performance", "schedutil")}, "governor is schedutil", "cpupower"),
        ({"turbo": True}, "turbo", "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"),
        ({"turbo": True, "cpu_model": "Intel Xeon"}, "turbo", "intel_pstate/no_turbo"),
        ({"smt": True}, "SMT", "smt/control"),
        ({"huge_pages": "always"}, "huge pages", "echo madvise"),
        ({"swap_bytes": GIB, "swap_used_bytes": GIB // 2}, "0.5 GiB", "swapoff"),
        ({"available_bytes": 2 * GIB}, "2.0 GiB of 32.0 GiB", "ps aux"),
        ({"busy": (BusyProcess(7, "make", 1.5),)}, "150% of a core: make", "kill -STOP 7"),
        ({"steal_share": 0.03}, "3.0%", "vmstat"),
        ({"storage.free_bytes": 2 * GIB}, "2.0 GiB are free", "du -xh --max-depth=2 /data"),
        ({"storage.filesystem": "tmpfs"}, "lies in memory", "df"),
        ({"storage.mount_options": ("rw", "sync")}, "with sync", "remount,async /data"),
        ({"storage.scheduler": "bfq"}, "bfq of sda", "/sys/block/sda/queue/scheduler"),
    ],
)
def test_a_bad_state_is_named_with_the_command_that_mends_it(
    change: dict[str, Any], names: str, mends: str
) -> None:
    of_storage = {key[8:]: value for key, value in change.items() if key.startswith("storage.")}
    of_machine = {key: value for key, value in change.items() if not key.startswith("storage.")}
    storage = dataclasses.replace(GOOD.storage, **of_storage)
    (warning,) = warnings(dataclasses.replace(GOOD, storage=storage, **of_machine))
    assert names in warning
    assert mends in warning


def test_a_hardly_busy_process_is_a_fact_and_no_warning() -> None:
    machine = dataclasses.replace(GOOD, busy=(BusyProcess(7, "make", 0.03),))
    assert warnings(machine) == []
    assert facts(machine)["Other busy processes"] == "make 3%"


def test_what_is_unknown_is_left_out_of_the_facts() -> None:
    known = facts(GOOD)
    assert known["Turbo"] == "off"
    assert known["Mounted"] == "/data (rw,noatime)"
    assert "Steal since start" not in known
    blind = dataclasses.replace(GOOD, turbo=None, governors=(), cpu_model=None, huge_pages=None)
    assert known.keys() - facts(blind).keys() == {
        "Turbo",
        "Frequency governor",
        "CPU",
        "Transparent huge pages",
    }


def test_the_chosen_one_is_in_brackets() -> None:
    assert chosen("always [madvise] never") == "madvise"
    assert chosen("none") == "none"
    assert chosen(None) is None
    assert chosen("") is None


def test_this_machine_can_be_read(tmp_path: Path) -> None:
    machine = read_machine(tmp_path, watch_s=0.01)
    assert machine.memory_bytes > machine.available_bytes > 0
    assert machine.storage.total_bytes >= machine.storage.free_bytes > 0
    assert machine.usable_cpus >= 1
    assert all(facts(machine).values())
