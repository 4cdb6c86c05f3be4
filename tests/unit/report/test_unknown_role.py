"""Reports of a long step with an unknown role, as of a new benchmark."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust import benchmarks
from slowdust.analysis.stored import analyse
from slowdust.benchmarks.insert import INSERT
from slowdust.exchange import write_classic
from slowdust.kinds import KINDS
from slowdust.report import csv, html, json
from slowdust.report.markdown import report as markdown
from slowdust.store.folder import Folder
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from tests.experiments.stored import unpack_experiments
from tests.unit.report.outline import words


@pytest.fixture(params=["insert", "query"])
def renamed(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Manifest, list[Slice]]:
    """Return the stored experiment of the Insert Benchmark, with one of its roles renamed."""
    unpack_experiments(tmp_path, "insert")
    folder = Folder(tmp_path / "insert")
    slices = folder.read_slices()
    for record in slices:
        assert record.step is not None
        roles = record.step.roles
        record.step.roles = {
            "fill" if name == request.param else name: use for name, use in roles.items()
        }
    return folder.read_manifest(), slices


def test_reports_show_it_with_words_of_its_name(renamed: tuple[Manifest, list[Slice]]) -> None:
    manifest, slices = renamed
    report = analyse(manifest, slices)
    page, text = html.render(report, slices), markdown.render(report, slices)

    assert re.search(r"<h5>[^<]*\bfill</h5>", page)
    assert '<td class="number">fill</td>' in page
    assert " fill rows/s" in text
    roles = {role.role: role for run in report.step_runs for role in run.roles}
    assert roles["fill"].unit == "fill rows/s"
    assert roles["fill"].rate is not None
    assert "fill" in json.render(report, slices)
    assert csv.render(report, slices)


def test_its_seconds_have_stalls(renamed: tuple[Manifest, list[Slice]]) -> None:
    manifest, slices = renamed
    record = max(slices, key=lambda each: each.measured.seconds or 0.0)
    assert record.step is not None
    use = next(use for name, use in record.step.roles.items() if len(use.per_second) > 1)
    record.step.roles = {"fill": use}
    use.per_second = [*use.per_second] * 5
    record.measured.seconds = float(len(use.per_second))
    use.schedule = None
    use.per_second[1] = type(use.per_second[1])(0, 0, 0, 0)
    for second in use.per_second:
        second.statements *= 100
        second.rows *= 100

    runs = analyse(manifest, slices).step_runs
    assert any(stall.role == "fill" for run in runs for stall in run.stalls)
    assert html.render(analyse(manifest, slices), slices)


def test_classic_files_match_long_steps(
    renamed: tuple[Manifest, list[Slice]], tmp_path: Path
) -> None:
    manifest, slices = renamed
    paths = write_classic(KINDS, manifest, analyse(manifest, slices), slices, tmp_path / "classic")
    assert any(path.name.startswith("mrg.") for path in paths)


def test_another_benchmark_does_not_have_the_words_of_the_insert_benchmark(
    renamed: tuple[Manifest, list[Slice]],
    monkeypatch: pytest.MonkeyPatch,
    snapshot: SnapshotAssertion,
) -> None:
    manifest, slices = renamed
    other = replace(
        INSERT,
        name="bulk",
        title="the benchmark",
        counted_briefly="",
        counted_by_step="",
        about_steps="",
    )
    monkeypatch.setitem(benchmarks.BENCHMARKS, "bulk", other)
    for record in slices:
        record.place.benchmark = "bulk"

    page = html.render(analyse(manifest, slices), slices)
    reading = page.partition('<section id="reading">')[2].partition("</section>")[0]
    assert words(reading) == snapshot
    assert INSERT.title not in page
    assert "l.i0, l.i1" not in reading
