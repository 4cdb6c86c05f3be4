"""A machine in a good state, for tests of the doctor."""

from __future__ import annotations

from pathlib import Path

from slowdust.probes.host.machine import Machine, Storage

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
