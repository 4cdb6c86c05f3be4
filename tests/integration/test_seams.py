"""Extensions of Slowdust that ARCHITECTURE.md describes, made in a copy of the sources."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from slowdust.builds import Build
from tests.experiments.stored import ROOT
from tests.integration.conftest import GetBuildOf
from tests.tiers.selection import full

PROBE = '''
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


def open_probe(subject):
    """Return the probe of the host's page faults."""
    return PageFaults()
'''
METRIC = '''
    Metric("faults", "faults/o", "Page faults of the whole host", "faults", ("page_faults",),
        indicates=Indication(Cause.CPU, "page faults", 10.0), markdown="faults/o"),
)  # fmt: skip
"""All metrics.'''
EXPLANATION = """
from slowdust.analysis.model import Result
from slowdust.analysis.story.reasons import explain
from slowdust.ratios import Ratio
from slowdust.store.latency import LatencyUs

def result(contender, rqps, faults):
    return Result(
        benchmark="micro", test="point-query", group="point", clients=1, contender=contender,
        unit="operations/s", qps=1000.0 * rqps, typical=Ratio(rqps), slices=9, incarnations=2,
        per_op={"faults": faults}, per_op_relative={"faults": faults / 40.0},
        latency_us=LatencyUs(p50=500.0), errors=0,
    )

print(explain(result("b", 0.5, 80.0), result("a", 1.0, 40.0)))
"""


@dataclass
class Copy:
    """The sources of Slowdust in a folder, to be extended and run there."""

    folder: Path

    def write(self, module: str, text: str) -> None:
        """Add a file to the package."""
        (self.folder / "src/slowdust" / module).write_text(text)

    def replace(self, module: str, old: str, new: str) -> None:
        """Replace a text that a file has once."""
        path = self.folder / "src/slowdust" / module
        text = path.read_text()
        assert text.count(old) == 1, (module, old)
        path.write_text(text.replace(old, new))

    def python(self, *arguments: str) -> str:
        """Run the interpreter on the copy; return what it printed."""
        variables = {"PYTHONPATH": str(self.folder / "src"), "COLUMNS": "200"}
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=os.environ | variables | {"SLOWDUST_CACHE": str(self.folder / "cache")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def slowdust(self, *arguments: str) -> str:
        """Run the command of the copy."""
        return self.python("-c", "from slowdust.cli.main import main; main()", *arguments)


@pytest.fixture
def copy(open_dir: Path) -> Copy:
    shutil.copytree(ROOT / "src", open_dir / "src")
    return Copy(open_dir)


@pytest.fixture
def contenders(builds: GetBuildOf) -> tuple[str, str]:
    """Two contenders that start in no time: a directory of SQLite, in two configurations."""
    directory = str(builds("sqlite", "3.50.2").root)
    return directory, f"{directory}:durable"


@full
def test_a_probe_with_its_metric_is_a_module_and_a_row(
    copy: Copy, contenders: tuple[str, str]
) -> None:
    copy.write("probes/host/faults.py", PROBE)
    copy.replace("analysis/metrics.py", '\n)  # fmt: skip\n"""All metrics.', METRIC)

    copy.slowdust(
        *("compare", *contenders, "--tests", "point-query"),
        *("--name", "faults", "--rows", "1000", "--slice", "50ms"),
        *("--budget", "2s", "--incarnations", "1", "--count", "off"),
    )
    base, contender = json.loads(copy.slowdust("report", "faults", "--json"))["results"]
    assert base["per_op"]["faults"] > 0
    assert contender["per_op_relative"]["faults"] > 0
    assert contender["compared"]["faults"]["ratio"] > 0
    rows = list(csv.DictReader(io.StringIO(copy.slowdust("report", "faults", "--csv"))))
    assert float(rows[0]["per_op_faults"]) == base["per_op"]["faults"]
    assert "faults/o" in copy.slowdust("report", "faults", "--md")
    copy.slowdust("report", "faults", "--html", "page.html")
    page = (copy.folder / "page.html").read_text()
    assert "Page faults of the whole host per operation" in page
    schema = copy.python("-c", "from slowdust.report import json; print(json.report_schema())")
    assert '"description": "Page faults of the whole host per operation"' in schema
    assert "page faults per operation" in copy.python("-c", EXPLANATION)


SOURCE = '''
"""Builds that lie in a folder of this machine."""

import shutil
from pathlib import Path

from slowdust.builds.model import Unpacked


def describe(origin):
    """Describe an origin: 'folder PATH'."""
    return f"folder {origin.version}"


def provide(origin, folder, progress):
    """Copy a build into an empty folder."""
    progress(f"copying {origin.version}")
    shutil.copytree(origin.version, folder / "copied", symlinks=True)
    return Unpacked(folder / "copied", describe(origin))
'''


def test_a_source_of_builds_is_a_module_and_a_line(copy: Copy, postgres_build: Build) -> None:
    copy.write("builds/sources/folder.py", SOURCE)
    copy.replace(
        "builds/sources/__init__.py", "import amalgamation, ", "import amalgamation, folder, "
    )
    copy.replace(
        "builds/sources/__init__.py", '    "npm": npm,', '    "npm": npm, "folder": folder,'
    )

    # The catalog says which versions a source has: that is data, a table and a line.
    catalog = "builds/catalog/postgres.toml"
    copy.replace(catalog, "\n[versions]\n", '\n[sources.here]\nkind = "folder"\n\n[versions]\n')
    line = '"17.6" = { npm = "17.6.0-beta.15", maven = "17.6.0" }'
    copy.replace(catalog, line, f'"17.6" = {{ here = "{postgres_build.root}" }}')

    assert f"17.6 from folder {postgres_build.root}" in copy.slowdust(
        "builds", "get", "postgres@17.6"
    )


BENCHMARK = '''
"""A benchmark of one long step: the load of its tables."""

from dataclasses import dataclass, field, replace

from slowdust.benchmarks.model import DEFAULT_SUITE, Group, Phase
from slowdust.benchmarks.options import own_options, unused_keys
from slowdust.benchmarks.steps import (
    Counted, LongStep, Maintenance, StepBenchmark, StepTable, StepWork, Workload,
)


class BulkTable(StepTable):
    """The table [bulk]."""

    bulk_rows: int = 500


@dataclass(frozen=True)
class BulkWorkload(Workload):
    """The load, the same for all servers."""

    def work(self, step, clients):
        """Return the load."""
        rows = self.settings.bulk_rows
        work = {"kind": "load", "rows": rows, "rows_per_commit": 50}
        return StepWork(work, inserted=rows, deleted=0, operations=rows // 50)

    def check_room(self, levels, free_bytes):
        """Let everything pass."""

    def add_to(self, method, levels):
        """Add the rows."""
        method.tables, method.rows = self.settings.tables(max(levels)), self.settings.bulk_rows


@dataclass(frozen=True)
class Bulk(StepBenchmark):
    """The benchmark."""

    settings: BulkTable = field(default_factory=BulkTable)
    seconds = 1.0
    planned_starts = 2

    def usual_length(self, tests, levels):
        """Return a second for each number of clients."""
        return 1.0 * len(levels)

    def configured(self, table):
        """Return the benchmark as its table describes it."""
        return replace(self, settings=table)

    def workload(self, servers):
        """Return the load."""
        return BulkWorkload(self.settings, self.planned_starts, self.seconds, chunk=0.1)


BULK = Bulk(
    name="bulk",
    tests=(
        LongStep(
            benchmark="bulk", name="fill", group=Group.WRITE, phase=Phase.WRITE,
            main_role="insert", counted=Counted.ROWS, unit="rows/s",
            maintenance=Maintenance.AFTER_LOAD, makes_tables=True,
        ),
    ),
    suites={DEFAULT_SUITE: ("fill",)},
    driver_benchmark="insert",
    table="purchases",
    options_type=BulkTable,
    options=own_options("bulk"),
    unused_keys=unused_keys("bulk"),
)
'''


BENCHMARK_OPTIONS = (
    "bulk\tbulk-rows\tN\t-\tRows of each client.  [default: 500]\n"
    "bulk\tbudget\tunused\t-\tit ends by itself\n"
)


def test_a_benchmark_with_its_options_is_a_module_and_a_line(
    copy: Copy, contenders: tuple[str, str]
) -> None:
    """Only the driver's work is one that is there: it loads the tables of the Insert Benchmark."""
    copy.write("benchmarks/bulk.py", BENCHMARK)
    lists = "benchmarks/__init__.py"
    copy.replace(
        lists, "import INSERT\n", "import INSERT\nfrom slowdust.benchmarks.bulk import BULK\n"
    )
    copy.replace(lists, "in (MICRO, INSERT,", "in (BULK, MICRO, INSERT,")
    with (copy.folder / "src/slowdust/benchmarks/options.tsv").open("a") as table:
        table.write(BENCHMARK_OPTIONS)

    assert "--help-bulk" in copy.slowdust("compare", "--help")
    text = " ".join(copy.slowdust("compare", "--help-bulk").split())
    assert "Rows of each client. [default: 500]" in text
    assert "--budget It ends by itself." in text
    copy.slowdust(
        *("compare", *contenders, "--benchmark", "bulk", "--bulk-rows", "700"),
        *("--name", "bulk", "--clients", "2"),
    )
    file = (copy.folder / "results/bulk/experiment.toml").read_text()
    assert "\n[bulk]\n" in file
    assert "\nbulk_rows = 700\n" in file
    slices = [
        json.loads(line) for line in (copy.folder / "results/bulk/slices.ndjson").open().readlines()
    ]
    assert [record["place"]["test"] for record in slices] == ["fill"] * 4
    assert all(record["measured"]["operations"] == 1400 for record in slices)
    assert all(record["step"]["rows_counted"] == 1400 for record in slices)
    results = json.loads(copy.slowdust("report", "bulk", "--json"))["results"]
    assert {result["benchmark"] for result in results} == {"bulk"}
    assert results[1]["rqps"] > 0


FAMILY = '''
"""A DBMS that speaks the protocol of Postgres, and tells nothing of its files and its work."""

import dataclasses

from slowdust.dbms.access import USER
from slowdust.dbms.family import Commit, Sizes
from slowdust.dbms.postgres_protocol import PostgresProtocol
from slowdust.dbms.postgres_protocol import SQL
from slowdust.dbms.settings import AcceptedSettings
from slowdust.dbms.stages import Query


class Mini(PostgresProtocol):
    """Mini."""

    name = "mini"
    sql = dataclasses.replace(SQL, like="postgres", vectors=None)

    def bytes_per_row(self, engine):
        """Return the bytes of a row."""
        return 320

    def commit(self, settings, engine):
        """Return that a commit never waits."""
        return Commit(waits_for_disk=False, setting="synchronous_commit=off")

    def pool_settings(self, size, engine):
        """Return the size of the cache."""
        return {"shared_buffers": self.render_bytes(size)}

    def accept(self, build, account, settings):
        """Take all settings: a wrong one is found by the start."""
        return AcceptedSettings({**settings.optional, **settings.required}, (), {})

    def create(self, site, run):
        """Make the data directory."""
        run([site.build.program("initdb"), f"--pgdata={site.data_dir}", f"--username={USER}",
             "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"])

    def configuration(self, site):
        """Write the settings."""
        lines = [f"{name} = '{value}'" for name, value in site.settings.values.items()]
        return "\\n".join([*lines, f"hba_file = '{site.data_dir}/pg_hba.conf'", ""])

    def server_command(self, site):
        """Return the command of the server."""
        own = {"config_file": site.config_file, "listen_addresses": "", "port": site.port,
               "unix_socket_directories": site.socket_dir}
        options = [part for name, value in own.items() for part in ("-c", f"{name}={value}")]
        return [*site.build.command(site.build.server), "-D", str(site.data_dir), *options]

    def error_line(self, log):
        """Return the last line."""
        return log[-1] if log else None

    def sizes(self, site, tables):
        """Ask for the size of the database alone."""
        return Query(
            ("SELECT pg_database_size(current_database())",),
            lambda answers: Sizes(int(answers[0][0][0]), 0, 0),
        )


FAMILY = Mini()
'''
CATALOG = """
dbms = "mini"
sources = {}
versions = {}

[server]
paths = ["mini/bin/postgres"]
version_arguments = ["--version"]
version_pattern = '\\(PostgreSQL\\) (\\S+)'
"""
WORKLOAD = """
[tables.books]
rows = 1000
columns.id = { type = "int", by = "serial" }
columns.shelf = { type = "int", by = "uniform", low = 1, high = 20 }
primary_key = "id"

[statements.find]
sql.postgres = "SELECT shelf FROM books WHERE id = :id::int"
parameters.id = { of = "books.id" }
result = { rows = 1 }

[tests.find]
group = "point"
statements = ["find"]
"""


def test_a_dbms_that_speaks_the_protocol_of_another_is_a_module_and_its_configs(
    copy: Copy, postgres_build: Build
) -> None:
    """It is measured with a benchmark of the driver, and with a workload written for Postgres."""
    copy.write("dbms/mini.py", FAMILY)
    copy.write("builds/catalog/mini.toml", CATALOG)
    (copy.folder / "src/slowdust/dbms/configs/mini").mkdir()
    for config in ("default", "durable"):
        copy.write(f"dbms/configs/mini/{config}.toml", f'based_on = "postgres/{config}"\n')
    (copy.folder / "build").mkdir()
    (copy.folder / "build/mini").symlink_to(postgres_build.root)
    (copy.folder / "books.toml").write_text(WORKLOAD)

    contenders = (str(copy.folder / "build"), f"{copy.folder / 'build'}:durable")
    short = ("--budget", "1s", "--incarnations", "1", "--slice", "50ms", "--count", "off", "--yes")
    copy.slowdust(
        *("compare", *contenders, "--tests", "point-query,plan-simple", "--rows", "1000"),
        *("--name", "micro", *short),
    )
    copy.slowdust("compare", *contenders, "--workload", "books.toml", "--name", "own", *short)
    for name, tests in (("micro", {"point-query", "plan-simple"}), ("own", {"find"})):
        manifest = json.loads((copy.folder / "results" / name / "manifest.json").read_text())
        assert {contender["dbms"] for contender in manifest["contenders"]} == {"mini"}
        report = json.loads(copy.slowdust("report", name, "--json"))
        assert {result["test"] for result in report["results"]} == tests
        assert all(result["qps"] > 0 and not result["errors"] for result in report["results"])
