"""Files of an archive that nothing, or not all, could be made of: each is one line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from slowdust.benchmarks.archived import IIBENCH, SYSBENCH
from slowdust.formats.text import readable
from slowdust.store.manifest import Fate, SkippedFile

OTHER_KIND = {
    kind: f"of the other kind: `slowdust import {kind}` reads them"
    for kind in (SYSBENCH.name, IIBENCH)
}
"""What files are called that the import of another kind reads."""
TWICE = "twice, plain and compressed: the plain one is used"


@dataclass(frozen=True)
class Problem:
    """A file, and what is wrong with it."""

    path: Path
    reason: str
    fate: Fate = Fate.SKIPPED


def recorded(problems: Iterable[Problem], home: Path) -> list[SkippedFile]:
    """As the manifest of the experiment of the directory `home` has them."""
    return [
        SkippedFile(file=_name(problem.path, home), reason=problem.reason, fate=problem.fate)
        for problem in problems
    ]


def _name(path: Path, home: Path) -> str:
    if path == home:
        return readable(home.name)
    return readable(str(path.relative_to(home)) if path.is_relative_to(home) else path.name)
