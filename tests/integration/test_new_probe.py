"""A probe and its metric are one new module and one row: shown by adding them to a copy."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.same_output.__main__ import ROOT

MODULE = '''
"""Page faults of the whole host."""

from pathlib import Path


class PageFaults:
    """Reads the page faults that the host counts."""

    name = "faults"
    parts = {}

    def read(self):
        """Read the faults since the host's start."""
        lines = Path("/proc/vmstat").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("pgfault "))

    def use(self, before, after):
        """Return the page faults between two readings."""
        return {"page_faults": after - before}


def probe_of(subject):
    """Return the probe of the host's page faults."""
    return PageFaults()
'''
ROW = '''
    Metric("faults", "faults/o", "Page faults of the whole host", "faults", ("page_faults",),
        evidence=Evidence(Cause.CPU, "page faults", 10.0), markdown="faults/o"),
)  # fmt: skip
"""All metrics.'''
EXPLANATION = """
from slowdust.analysis.model import Result
from slowdust.analysis.story.explain import explain
from slowdust.store.latency import LatencyUs

def result(contender, rqps, faults):
    return Result(
        benchmark="micro", test="point-query", group="point", clients=1, contender=contender,
        unit="operations/s", qps=1000.0 * rqps, rqps=rqps, slices=9, incarnations=2,
        per_op={"faults": faults}, per_op_relative={"faults": faults / 40.0},
        latency_us=LatencyUs(p50=1000.0),
    )

print(explain(result("b", 0.5, 80.0), result("a", 1.0, 40.0)))
"""


def test_a_new_probe_and_its_metric_are_in_every_format(open_dir: Path) -> None:
    source = open_dir / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    (source / "slowdust/probes/host/faults.py").write_text(MODULE)
    table = source / "slowdust/analysis/metrics.py"
    end = '\n)  # fmt: skip\n"""All metrics.'
    assert table.read_text().count(end) == 1
    table.write_text(table.read_text().replace(end, ROW))

    def run(*arguments: str) -> str:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=open_dir,
            env=os.environ | {"PYTHONPATH": str(source), "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    def slowdust(*arguments: str) -> str:
        return run("-c", "from slowdust.cli.main import main; main()", *arguments)

    slowdust(
        *(
            "compare",
            "postgres@15.8",
            "postgres@17.6",
            "--tests",
            "point-query",
            "--name",
            "faults",
        ),
        *("--rows", "1000", "--slice", "50ms", "--budget", "2s", "--incarnations", "1"),
    )
    base, contender = json.loads(slowdust("report", "faults", "--json"))["results"]
    assert base["per_op"]["faults"] > 0
    assert contender["per_op_relative"]["faults"] > 0
    rows = list(csv.DictReader(io.StringIO(slowdust("report", "faults", "--csv"))))
    assert float(rows[0]["per_op_faults"]) == base["per_op"]["faults"]
    assert "faults/o" in slowdust("report", "faults", "--md")
    slowdust("report", "faults", "--html", "page.html")
    assert "Page faults of the whole host per operation" in (open_dir / "page.html").read_text()
    schema = run("-c", "from slowdust.report import json; print(json.schema())")
    assert '"description": "Page faults of the whole host per operation"' in schema
    assert "page faults per operation" in run("-c", EXPLANATION)
