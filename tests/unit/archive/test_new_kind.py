"""A new kind of archive is a class and one line in the list."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from slowdust import kinds
from slowdust.analysis.model import Report
from slowdust.archive.files import walk
from slowdust.archive.runs import facts_of
from slowdust.cli import commands
from slowdust.exchange import (
    MARGIN,
    Candidate,
    Files,
    ForeignKind,
    ImportedExperiment,
    Mode,
)
from slowdust.store.manifest import Imported, Manifest, Method
from slowdust.store.measured import Printed
from slowdust.store.slice import SCHEMA, Place, Slice
from tests.unit.archive.command import Slowdust, mentions, report, slowdust

__all__ = ["slowdust"]


@dataclass(frozen=True)
class Rates:
    """A file with a rate for each run."""

    path: Path
    clients: int

    def experiment(self, name: str) -> ImportedExperiment:
        rates = dict(line.split() for line in self.path.read_text().splitlines())
        slices = [
            Slice(
                place=Place(benchmark="rates", test="t", clients=self.clients, contender=run),
                qps=float(rate),
                printed=Printed(texts={"run": run}),
            )
            for run, rate in rates.items()
        ]
        manifest = Manifest(
            schema=SCHEMA,
            experiment=name,
            slowdust="0",
            base=next(iter(rates)),
            contenders=[facts_of(run, run) for run in rates],
            tests=["t"],
            clients=[self.clients],
            method=Method(margin=MARGIN, incarnations=1),
            imported=Imported(kind="rates", mode="clean", source=self.path.name, used=1),
        )
        return ImportedExperiment(manifest, slices)


class RatesKind:
    """Files of rates."""

    name = "rates"

    def owns(self, file: str) -> bool:
        return file.endswith(".rates")

    def reads(self, file: str) -> bool:
        return self.owns(file)

    def find(
        self, roots: Sequence[Path], mode: Mode, options: Mapping[str, Any], foreign: ForeignKind
    ) -> list[Candidate]:
        rates = [
            Rates(folder.path / name, options["clients"] or 1)
            for root in roots
            for folder in walk(root)
            for name in folder.names
            if self.owns(name)
        ]
        return [Candidate(each.path.stem, each.experiment, Files()) for each in rates]

    def writes(self, slices: Sequence[Slice]) -> bool:
        return False

    def files(self, manifest: Manifest, report: Report, slices: Sequence[Slice]) -> dict[Path, str]:
        return {}


DECLARED = tomllib.loads("""
["import rates"]
summary = "Files of rates."
does = "results:import_archive"
given = { kind = "rates" }
arguments = [{ name = "directories", metavar = "DIR...", nargs = -1, kind = "existing-folder" }]
options = "name compat clients results"
help = "Import files of rates."
""")
"""The lines of `commands.toml` about the kind; options of other imports are its own, too."""


@pytest.fixture(autouse=True)
def new_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "KINDS", (*kinds.KINDS, RatesKind()))
    everything = {**commands.declared(), **DECLARED}
    monkeypatch.setattr(commands, "declared", lambda: everything)
    rows = [
        replace(row, commands=f"{row.commands} import-rates")
        if "import-iibench" in row.commands
        else row
        for row in commands.options_table()
    ]
    monkeypatch.setattr(commands, "options_table", lambda: rows)


def import_two_rates(tmp_path: Path, slowdust: Slowdust) -> str:
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "small.rates").write_text("a 100\nb 50\n")
    return slowdust("import", "rates", "archive", "--clients", "4")


def test_its_import_is_a_command(slowdust: Slowdust) -> None:
    assert "rates     Files of rates." in slowdust("import", "--help")
    assert "Import files of rates." in slowdust("import", "rates", "--help")


def test_its_experiments_are_stored_and_reported(tmp_path: Path, slowdust: Slowdust) -> None:
    printed = import_two_rates(tmp_path, slowdust)
    assert "small: 2 contenders, 1 test, 2 results, clean; the base is a" in printed
    ratios = {
        result["contender"]: result["rqps"] for result in report(slowdust, "small")["results"]
    }
    assert ratios == {"a": 1.0, "b": pytest.approx(0.5)}


@pytest.mark.parametrize(
    ("form", "ratio"), [("--html=page", "0.50"), ("--md", "0.50"), ("--csv", "0.49999")]
)
def test_every_format_has_its_runs(
    tmp_path: Path, slowdust: Slowdust, form: str, ratio: str
) -> None:
    import_two_rates(tmp_path, slowdust)
    printed = slowdust("report", "small", form)
    assert ratio in (Path("page").read_text(encoding="utf-8") if "html" in form else printed)


def test_it_has_no_classic_files(tmp_path: Path, slowdust: Slowdust) -> None:
    import_two_rates(tmp_path, slowdust)
    slowdust("report", "small", "--classic", "classic")
    assert not (tmp_path / "classic").exists()


def test_other_imports_know_its_files(tmp_path: Path, slowdust: Slowdust) -> None:
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "small.rates").write_text("a 100\n")
    for kind in ("sysbench", "iibench"):
        printed = slowdust("import", kind, "archive", code=1)
        assert mentions(printed, "1 file ", "`slowdust import rates`")
