from __future__ import annotations

import dataclasses
from pathlib import Path

from slowdust.probes.host.machine import BusyProcess, chosen, describe_machine, read_machine
from tests.unit.synthetic_host import GOOD


def test_a_hardly_busy_process_is_a_fact() -> None:
    machine = dataclasses.replace(GOOD, busy=(BusyProcess(7, "make", 0.03),))
    assert describe_machine(machine)["Other busy processes"] == "make 3%"


def test_unknown_facts_are_omitted() -> None:
    known = describe_machine(GOOD)
    assert known["Turbo"] == "off"
    assert known["Mounted"] == "/data (rw,noatime)"
    assert "Steal since start" not in known
    blind = dataclasses.replace(GOOD, turbo=None, governors=(), cpu_model=None, huge_pages=None)
    assert known.keys() - describe_machine(blind).keys() == {
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
    assert all(describe_machine(machine).values())
