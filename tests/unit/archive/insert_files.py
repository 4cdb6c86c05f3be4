"""Small files of the Insert Benchmark, written for the tests.

write_runs(tmp_path, {"8m.pg174_o2.c1": {"qr100.L1": {"ips": "799", "qps": "52000"}}})
write_client(tmp_path / "8m.pg174_o2.c1" / "l.i0", clients=2, client=1, inserts=[900, 1100])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from slowdust.archive.classic import Row
from slowdust.archive.insert.tables import (
    COLUMNS,
    merged_row,
    relative_rows,
    table_row,
    write_table,
)

STEPS = (
    "l.i0", "l.x", "l.i1", "l.i2",
    "qr100.L1", "qp100.L2", "qr500.L3", "qp500.L4", "qr1000.L5", "qp1000.L6",
)  # fmt: skip
_USUAL = (
    "100.5 0 3.4 0.2 50.0 1.5 0.001 0.020 0.300 4.000 9000 40.0 0.150 50 8.0 12.0 4.5 0.125 95 70"
)
_CELLS = dict(zip(COLUMNS, _USUAL.split(), strict=False))
_SUITS = {"l": {"ips": "50000", "qps": "0"}, "q": {"ips": "799", "qps": "40000"}}
Cells = Mapping[str, str]


def row(tag: str, step: str, cells: Cells | None = None) -> Row:
    """Return a step with 8 clients; `cells` are those that matter to the test."""
    rate = {"qr500.L3": "3996", "qp500.L4": "3996", "qr1000.L5": "7990", "qp1000.L6": "7990"}
    usual = {**_CELLS, **_SUITS[step[0]]}
    if step in rate:
        usual["ips"] = rate[step]
    return table_row([{**usual, **(cells or {}), "tag": tag}[column] for column in COLUMNS])


def write_runs(folder: Path, runs: Mapping[str, Mapping[str, Cells]]) -> None:
    """Write a file o.sum for each tag, with all of `STEPS`; given cells replace the usual ones."""
    folder.mkdir(parents=True, exist_ok=True)
    for tag, steps in runs.items():
        rows = [row(tag, step, steps.get(step)) for step in STEPS]
        (folder / f"o.sum.t.{tag}").write_text(write_table([rows]))


def write_merged(folder: Path, step: str, groups: Sequence[Sequence[Row]]) -> None:
    """Write the files mrg and rel of a step."""
    folder.mkdir(parents=True, exist_ok=True)
    merged = [[merged_row(result) for result in group] for group in groups]
    (folder / f"mrg.{step}").write_text(write_table(merged))
    (folder / f"rel.{step}").write_text(write_table([relative_rows(group) for group in merged]))


def client_output(
    inserts: Sequence[int],
    queries: Sequence[int] | None = None,
    deletes: Sequence[int] | None = None,
) -> bytes:
    """Return the output of a client; each argument has the operations of each second."""
    nothing = [0] * len(inserts)
    queries, deletes = queries or nothing, deletes or nothing
    columns = (
        "i_sec t_sec i_ips t_ips i_dps t_dps i_qps t_qps max_i max_d max_q "
        "t_ins t_del t_query retry_i retry_d retry_q"
    )
    lines = ["python3 iibench.py --dbms=mysql --rows_per_commit=50", columns.replace(" ", "\t")]
    for place, (i, d, q) in enumerate(zip(inserts, deletes, queries, strict=True)):
        seconds = place + 1
        totals = [sum(counts[:seconds]) for counts in (inserts, deletes, queries)]
        rates = [f"{total / seconds:.0f}" for total in totals]
        cells = ["1.0", f"{seconds:.1f}", str(i), rates[0], str(d), rates[1], str(q), rates[2]]
        cells += ["1500", "1200", "300", *map(str, totals), "0", "0", "0"]
        lines.append("\t".join(cells))
    buckets = "256us 1ms 4ms 16ms 64ms 256ms 1s 4s 16s gt max"
    for title, values in (
        ("Insert", f"0 0 {sum(inserts) // 50} 1 0 0 0 0 0 0    0.011500"),
        ("Query", f"{sum(queries)} 2 0 0 0 0 0 0 0 0    0.000900"),
    ):
        lines += [f"{title} rt: {buckets}", f"{title} rt: {values}"]
    seconds, rows = len(inserts), sum(inserts)
    retries = "0 0 0 insert-delete-query retry"
    lines += [f"Totals: {seconds}.0 secs, {rows / seconds:.1f} rows/sec, {rows} rows, {retries}"]
    lines += ["Done"]
    return "".join(f"{line}\n" for line in lines).encode()


def write_client(folder: Path, *, clients: int, client: int, inserts: Sequence[int]) -> Path:
    """Write the output of a client in a step without queries."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"o.ib.dop{clients}.{client}"
    path.write_bytes(client_output(inserts))
    return path


RESULT = """\
2 processes, 5000000 rows-per-process, 301 seconds, 33222.5 rows-per-second, 16611.2 \
rows-per-second-per-user, 0 queries, 0.0 queries-per-second, yes deletes

iostat, vmstat normalized by insert rate
nsamp\tr/s\trMB/s\tw/s\twMB/s\tr/i\trKB/i\tw/i\twKB/i\tips
60\t0.6\t0.0\t1400.0\t45.0\t0.000\t0.001\t0.042\t1.387\t33222.5

nsamp\tcs/s\tcpu/s\tcs/q\tcpu/q
63\t9000\t40.0\t0.271\t0.001204

iostat, vmstat normalized by query rate
nsamp\tr/s\trMB/s\tw/s\twMB/s\tr/q\trKB/q\tw/q\twKB/q\tqps
60\t0.6\t0.0\t1400.0\t45.0\tinf\tinf\tinf\tinf\t0.0

nsamp\tcs/s\tcpu/s\tcs/q\tcpu/q
63\t9000\t40.0\tinf\tinf

dbGB\t7.250
dbdirGB\t9.500\t/data/m

mysql 1234 99.0 12.0 9000000 4700000 ? Sl 10:00 5:00 /usr/sbin/mysqld --basedir=/b

Max insert
0.415
0.301
0.200
Max query
0.000

insert, delete and query rate at nth percentile
50th, 150 / 300 = 16700 insert, 16700 delete, 0 query
99th, 297 / 300 = 9100 insert, 9000 delete, 0 query
50th, 150 / 300 = 16000 insert, 16000 delete, 0 query

CPU seconds
client: 100.00 user, 20.50 system, 120.5 total
dbms: 400.0
"""
