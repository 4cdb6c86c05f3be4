"""The content of a directory of Insert Benchmark results, run by run and step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowdust.archive.insert.client import ClientOutput, ResponseTimes
from slowdust.archive.insert.names import FileName, without_size
from slowdust.archive.insert.tables import Row, StepResult
from slowdust.exchange import Problem
from slowdust.formats.text import beginning
from slowdust.store.manifest import Fate
from slowdust.units import Second, known

TORN = "its last line is torn"
_SHOWN = 40
"""Characters of a damaged line that a problem quotes."""


@dataclass
class ArchivedStep:
    """One step of one run; values that no file has are None or empty."""

    row: Row | None = None
    """The row of o.sum, or else of mrg."""
    row_source: str = ""
    """The table that the row is from."""
    clients: int | None = None
    result: StepResult | None = None
    outputs: dict[int, ClientOutput] = field(default_factory=dict)
    """Client -> its output, as the paths of their files below."""
    client_paths: dict[int, Path] = field(default_factory=dict)
    result_path: Path | None = None
    response_times: dict[str, ResponseTimes] = field(default_factory=dict)
    """`insert`, `delete`, `query` -> the histogram of all clients."""
    longest: dict[str, Second] = field(default_factory=dict)
    """`insert`, `delete`, `query` -> the longest time in a table of several runs."""


@dataclass(frozen=True)
class RunTable:
    """A file o.sum."""

    tag: str
    steps: tuple[str, ...]


@dataclass
class MergedTables:
    """The files mrg of one directory that have the same runs in the same groups."""

    folder: str
    """The directory, relative to the archive's."""
    groups: tuple[tuple[str, ...], ...]
    """Tags; each group is compared with its own first."""
    steps: list[str]

    @property
    def runs(self) -> list[str]:
        return [run for group in self.groups for run in group]


@dataclass
class InsertArchive:
    """The content of a directory."""

    path: Path
    runs: dict[str, dict[str, ArchivedStep]] = field(default_factory=dict)
    """Tag without the rows in millions -> step as its file is called."""
    tags: dict[str, str] = field(default_factory=dict)
    """The same -> as it was first read."""
    table_paths: dict[str, Path] = field(default_factory=dict)
    """The same -> its file o.sum, whole or not."""
    run_tables: list[RunTable] = field(default_factory=list)
    cut_tables: dict[str, int] = field(default_factory=dict)
    """Run with a damaged file o.sum -> how many steps it has, if that is known."""
    merged_tables: list[MergedTables] = field(default_factory=list)
    used: int = 0
    """Number of files that something was read from."""
    by_products: Counter[str] = field(default_factory=Counter)
    """Kind of file -> how many of it are known, and of no use here."""
    problems: list[Problem] = field(default_factory=list)
    folders: dict[Path, set[str]] = field(default_factory=dict)
    """Directory -> names of those below it that have files of use."""

    def step(self, tag: str, step: str) -> ArchivedStep:
        """Return that step of that run, which may be new."""
        run = without_size(tag)
        self.tags.setdefault(run, tag)
        steps = self.runs.setdefault(run, {})
        return steps.setdefault(step, ArchivedStep())

    def steps_of(self, runs: Iterable[str], step: str) -> list[ArchivedStep]:
        return known(self.runs.get(run, {}).get(step) for run in runs)

    def use(self, path: Path, damage: Sequence[str] = ()) -> None:
        """Note a file of which something is used, but not the parts that `damage` names."""
        self.used += 1
        if damage:
            self.problems.append(Problem(path, "; ".join(damage), Fate.PARTLY))

    def skip(self, path: Path, reason: str) -> None:
        self.problems.append(Problem(path, reason))


@dataclass(frozen=True)
class TextFile:
    """A file of an archive, and its whole lines."""

    path: Path
    name: FileName
    lines: list[str]
    torn: bool
    """Whether there is one more line at the end that was cut."""

    def damage(self, damaged: Sequence[str]) -> list[str]:
        """Return the damage in words; of the `damaged` lines the first is quoted."""
        quoted = [repr(line[:_SHOWN]) for line in damaged]
        lines = [beginning(quoted, 1)] if damaged else []
        return [*lines, TORN] if self.torn else lines
