"""Extensions of the reports that ARCHITECTURE.md describes, made in a copy of the sources."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.experiments.stored import ROOT, unpack_experiments

FORMAT = '''
"""The number of results."""


def render(report, slices, profiles):
    """Return the number of results and of slices."""
    return f"{len(report.results)} results of {len(slices)} slices"
'''
ANALYSIS = '''
"""The slowest results."""


def slowest(report):
    """Return the result with the lowest relative rate."""
    return min((each for each in report.results if each.ratio), key=lambda each: each.ratio.value)
'''
SECTION = '''
"""The slowest result."""

from slowdust.analysis.story.slowest import slowest
from slowdust.report.document import Section, text


def section(report):
    """Return the slowest result."""
    return Section("Slowest", [text(slowest(report).test)], "slowest", "Slowest")
'''


class Copy:
    """The package in a folder, with the stored experiments of the tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(ROOT / "src", folder / "src")
        unpack_experiments(folder / "results", "micro", "insert", "slap")

    def write(self, module: str, text: str) -> None:
        (self.folder / "src/slowdust" / module).write_text(text)

    def add_line(self, module: str, after: str, line: str) -> None:
        path = self.folder / "src/slowdust" / module
        assert path.read_text().count(after) == 1, after
        path.write_text(path.read_text().replace(after, after + line))

    def report(self, *arguments: str) -> str:
        command = "from slowdust.cli.main import main; main()"
        return subprocess.run(
            [sys.executable, "-c", command, "report", "micro", *arguments],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(self.folder / "src")},
            capture_output=True,
            text=True,
            check=True,
        ).stdout


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_a_format_is_its_module_and_one_line(copy: Copy, snapshot: SnapshotAssertion) -> None:
    copy.write("report/number.py", FORMAT)
    line = '    Format("number", "Print the number of results.", "number"),\n'
    copy.add_line("report/formats.py", '(docs/report.schema.json).", "json"),\n', line)

    assert copy.report("--help") == snapshot
    assert "results of" in copy.report("--number")


def test_a_section_of_all_media_is_one_module_and_one_line(copy: Copy) -> None:
    copy.write("analysis/story/slowest.py", ANALYSIS)
    copy.write("report/sections/slowest.py", SECTION)
    header = "from __future__ import annotations\n"
    copy.add_line("report/report.py", header, "\nfrom slowdust.report.sections import slowest\n")
    copy.add_line("report/report.py", "    results.throughput,\n", "    slowest.section,\n")

    assert "## Slowest" in copy.report("--md")
    copy.report("--html", "page.html")
    page = (copy.folder / "page.html").read_text()
    assert '<a href="#slowest">Slowest</a>' in page
    assert page.index("<h2>Results</h2>") < page.index("<h2>Slowest</h2>")
