"""What a directory of Insert Benchmark results tells, run by run and step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowdust.archive.problems import Problem
from slowdust.formats.insert.client import ClientOutput, ResponseTimes
from slowdust.formats.insert.names import IbenchFile, without_size
from slowdust.formats.insert.response import Shares
from slowdust.formats.insert.result import StepResult
from slowdust.formats.insert.tables import Row
from slowdust.formats.text import beginning
from slowdust.store.manifest import Fate

TORN = "its last line is torn"
_SHOWN = 40
"""Characters of a damaged line that a problem quotes."""


@dataclass
class ArchivedStep:
    """One step of one run; what the files do not tell is None or empty."""

    row: Row | None = None
    """As o.sum has it, or else as mrg has it."""
    row_source: str = ""
    """Which of them."""
    clients: int | None = None
    result: StepResult | None = None
    outputs: dict[int, ClientOutput] = field(default_factory=dict)
    """By client, as the paths of their files below."""
    client_paths: dict[int, Path] = field(default_factory=dict)
    result_path: Path | None = None
    response_times: dict[str, ResponseTimes] = field(default_factory=dict)
    """`insert`, `delete`, `query` -> the histogram of all clients."""
    shares: dict[str, Shares] = field(default_factory=dict)
    """The same in percent, of a table of several runs."""


@dataclass(frozen=True)
class RunTable:
    """A file o.sum."""

    tag: str
    steps: tuple[str, ...]


@dataclass
class MergedTables:
    """The files mrg of one directory that have the same runs in the same groups."""

    folder: str
    """Relative to the archive's directory."""
    groups: tuple[tuple[str, ...], ...]
    """Tags; each group is compared with its own first."""
    steps: list[str]


@dataclass
class IbenchArchive:
    """What a directory holds."""

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
    """Files that something was read from."""
    by_products: Counter[str] = field(default_factory=Counter)
    """Kind of file -> how many of it are known, and of no use here."""
    problems: list[Problem] = field(default_factory=list)
    folders: dict[Path, set[str]] = field(default_factory=dict)
    """Directory -> names of those below it that have files of use."""

    def step(self, tag: str, step: str) -> ArchivedStep:
        """That step of that run, which may be new."""
        run = without_size(tag)
        self.tags.setdefault(run, tag)
        steps = self.runs.setdefault(run, {})
        return steps.setdefault(step, ArchivedStep())

    def use(self, path: Path, damage: Sequence[str] = ()) -> None:
        """Note a file of which something is used, but not what `damage` says in words."""
        self.used += 1
        if damage:
            self.problems.append(Problem(path, "; ".join(damage), Fate.PARTLY))

    def skip(self, path: Path, reason: str) -> None:
        """Note a file of which nothing is used."""
        self.problems.append(Problem(path, reason))


@dataclass(frozen=True)
class FoundLines:
    """A file of text that belongs to an archive."""

    path: Path
    file: IbenchFile
    lines: list[str]
    torn: bool
    """Whether a line more was cut."""


def damage_of(one: FoundLines, damaged: Sequence[str]) -> list[str]:
    """What is wrong with a file that has these damaged lines, in words: the first is quoted."""
    lines = [beginning([repr(line[:_SHOWN]) for line in damaged], 1)] if damaged else []
    return [*lines, TORN] if one.torn else lines
