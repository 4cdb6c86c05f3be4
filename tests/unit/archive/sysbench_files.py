"""Small files of sysbench's runs, written for the tests in the layout of the real ones."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

RUN_A = "x.pg1023_o2.x10a_c8.pk1"
RUN_B = "x.pg174_o2.x10a_c8.pk1"
_VM_TITLE = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----"
_VM_COLUMNS = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st"
_IO_COLUMNS = (
    "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s"
    "  %wrqm w_await wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz  aqu-sz  %util"
)
_HEADER_EVERY = 20
_DEVICES = (("md0", 0.0), ("md2", 1.0), ("nvme0n1", 1.0))
_GROUPS = (
    ("cycles", "instructions", "branches", "branch-misses", "bus-cycles"),
    ("cache-references", "cache-misses"),
    ("context-switches", "migrations", "minor-faults", "faults"),
)
_REMARKS = {
    "cycles": "#    2.705 GHz",
    "instructions": "#    1.72  insn per cycle",
    "branch-misses": "#    0.71% of all branches",
}


@dataclass
class Written:
    """One test of one run; the defaults are a test of 60 seconds on 8 CPUs."""

    test: str = "hot-points"
    range: int = 100
    pk: int = 1
    dop: int = 8
    rate: float = 1000.5
    seconds: int = 60
    switches: int = 4000
    cpu: int = 40
    writes: float = 12.0
    rss_kb: int = 2_000_000
    load: int | None = None
    """Rows per second of the load before it; None: the run has no files of that."""
    counters: tuple[int, ...] = ()
    """Cycles of each iteration."""
    plans: int = 0
    """Lines of plans in sb.o."""
    disks: int = 0
    """More of them in sb.io."""
    backends: int = 4
    """Processes in sb.ps, each as often as there are ten seconds."""
    without: frozenset[str] = frozenset()
    """Kinds of files that are not there."""
    zipped: frozenset[str] = frozenset({"io", "ps"})
    extra: dict[str, str] = field(default_factory=dict)
    """Kind -> content of a file instead of the right one."""

    @property
    def common(self) -> str:
        return f"{self.test}.range{self.range}.pk{self.pk}"

    def files(self) -> dict[str, str]:
        """Return the content of each file by its name."""
        threads = f"{self.common}.dop{self.dop}"
        behind = f"pgsql {self.test} range={self.range}"
        written = {
            "o": (f"sb.o.{threads}", self.output()),
            "vm": (f"sb.vm.{threads}", self.vmstat()),
            "io": (f"sb.io.{threads}", self.iostat()),
            "ps": (f"sb.ps.{threads}", self.processes()),
            "met": (f"sb.met.{threads}", self.met()),
            "r.qps": (f"sb.r.qps.{self.common}", f"{self.rate:.0f}\t{behind}\n"),
            "r.rtavg": (f"sb.r.rtavg.{self.common}", f"7.99\t{behind}\n"),
            "r.rt95": (f"sb.r.rt95.{self.common}", f"9.10\t{behind}\n"),
            "ts": (f"sb.ts.{self.common}", "1.1 GB\n"),
        }
        if self.load is not None:
            written |= {
                f"prepare.{kind}": (f"sb.prepare.{kind}.{self.common}", content)
                for kind, content in (
                    ("o", self.load_output(self.load)),
                    ("vm", self.vmstat()),
                    ("io", self.iostat()),
                    ("met", self.met(f"{self.load}")),
                )
            }
        for number, cycles in enumerate(self.counters, start=1):
            name = f"sb.perf.hw.{self.common}.{number}"
            written[f"perf.hw.{number}"] = (name, self.perf(cycles))
        return {
            name: self.extra.get(kind, content)
            for kind, (name, content) in written.items()
            if kind not in self.without
        }

    def write(self, run: Path) -> None:
        """Write the files into a run directory."""
        run.mkdir(parents=True, exist_ok=True)
        for name, content in self.files().items():
            if name.split(".")[1] in self.zipped:
                (run / f"{name}.gz").write_bytes(gzip.compress(content.encode(), mtime=0))
            else:
                (run / name).write_text(content)

    def output(self) -> str:
        queries = round(self.rate * self.seconds)
        plans = "".join(
            f"\tSeq Scan on sbtest{n % 8 + 1} (rows={n} queries: 1)\n" for n in range(self.plans)
        )
        return (
            f"sysbench --db-driver=pgsql --table-size=1000 --tables=4 --threads={self.dop}"
            f" --time={self.seconds} {self.test}.lua run\n8 CPUs\n{plans}SQL statistics:\n"
            f"    queries performed:\n        read:              {queries}\n"
            f"    transactions:    {queries}  ({self.rate:.2f} per sec.)\n"
            f"    queries:         {queries}  ({self.rate:.2f} per sec.)\n\n"
            f"Throughput:\n    time elapsed:              {self.seconds}.0100s\n\nLatency (ms):\n"
            f"         avg:                   8.00\n         max:                  20.50\n"
            f"         95th percentile:       9.25\n"
        )

    def vmstat(self) -> str:
        lines = []
        for second in range(self.seconds + 1):
            if second % _HEADER_EVERY == 0:
                lines += [_VM_TITLE, _VM_COLUMNS]
            user = self.cpu - 10 if second else 1
            switches = self.switches if second else 7
            lines.append(f" 8  0 100 200 300 400 0 0 1 2 90 {switches} {user} 10 50 0 0")
        return "\n".join(lines) + "\n"

    def iostat(self) -> str:
        lines = ["Linux 5.15.0-1-generic (box) \t03/04/2025 \t_x86_64_\t(16 CPU)", ""]
        for _ in range(self.seconds):
            lines += ["avg-cpu:  %user", "          46.15", "", _IO_COLUMNS]
            for device, share in (*_DEVICES, *((f"sd{n}", 0.0) for n in range(self.disks))):
                writes = self.writes * share
                rest = "     0.00      0.00" * 6
                lines.append(f"{device:12} 1 4 0 0 0 0 {writes:9.2f} {writes * 8:9.2f}{rest}")
            lines.append("")
        return "\n".join(lines) + "\n"

    def processes(self) -> str:
        sample = ["Tue Mar 4 02:06:07 PM UTC 2025"] + [
            f"me {100 + n} 1.0 1.5 {9_000_000 + n} {self.rss_kb - n} ? Ss 10:45 0:05 postgres: me"
            for n in range(self.backends)
        ]
        return "\n".join(sample * max(1, self.seconds // 10)) + "\n"

    def load_output(self, rows: int) -> str:
        """Return the output of a load at `rows` per second."""
        return (
            f"Creating table 'sbtest1'...\nLoad seconds is {self.seconds} for 4 tables, "
            f"{rows // 1000 / 1000:.3f} Mips, {rows} ips\n"
        )

    def met(self, rate: str | None = None) -> str:
        """Return sb.met with numbers that no raw file gives: only without these it is read."""
        return (
            "iostat, vmstat normalized by operation rate\n"
            "samp\tr/s\trMB/s\tw/s\twMB/s\tr/o\trKB/o\twKB/o\to/s\n"
            f"60\t1.0\t0.0\t12.0\t0.1\t0.001\t0.004\t0.096\t{rate or f'{self.rate:.2f}'}\n\n"
            "samp\tcs/s\tcpu/s\tcs/o\tcpu/o\n"
            f"63\t3810\t38.1\t3.808\t0.038081\n"
        )

    @staticmethod
    def perf(cycles: int) -> str:
        lines = []
        for group in _GROUPS:
            lines += ["# started on Tue Mar  4 17:47:31 2025", ""]
            for event in group:
                value = "<not supported>" if event == "bus-cycles" else f"{cycles:,}"
                lines.append(f"{value:>18}      {event}   {_REMARKS.get(event, '')}".rstrip())
            lines += ["", "      10.001470181 seconds time elapsed", ""]
        return "\n".join(lines) + "\n"


def write_archive(directory: Path, runs: Mapping[str, Iterable[Written]]) -> Path:
    """Write run directories below `directory`."""
    for name, tests in runs.items():
        for test in tests:
            test.write(directory / name)
    return directory


TABLE = """\
sb.prepare.met.point-query.warm.range100.pk1
--- absolute
cpu/o\t\tcs/o\tr/o\trKB/o\twKB/o\to/s\tdbms
0.000025\t0.192\t0\t0\t1.235\t95454\tx.my8040_je.z_c8.pk1
0.000024\t0.190\t0\t0\t1.236\t96015\tx.my8040_tc.z_c8.pk1

sb.met.point-query.range100.pk1.dop64
--- absolute
cpu/o\t\tcs/o\tr/o\trKB/o\twKB/o\to/s\tdbms
0.000250\t1.5\t0\t0\t0\t1000\tx.my8040_je.z_c8.pk1
0.000200\t1.5\t0\t0\t0\t1300\tx.my8040_tc.z_c8.pk1
"""
"""A table of hardware, of a load and one test at 64 clients."""
RATES = """\
col-1 : x.my8040_je.z_c8.pk1
col-2 : x.my8040_tc.z_c8.pk1

col-1\tcol-2
1000\t1300\tpoint-query_range=100
20\t30\tscan_range=100
\t5\tinsert_range=100
"""
"""A table of rates of three tests, which does not tell the number of clients."""
