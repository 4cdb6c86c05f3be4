"""Compare the output of this work tree with the output of an earlier revision.

`python -m tests.same_output REVISION [KIND]...` runs both on the stored experiments in
tests/experiments, by default on all kinds and the published runs next to the project, and lists
the files that differ. It exits with 1 if any does. Intended changes are in `intended.tsv`.
"""

from __future__ import annotations

import argparse
import csv
import difflib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from tests.experiments.stored import ARCHIVE, ROOT
from tests.same_output.print_all import FAILED

_MOST_LINES = 12
_MOST_CHARACTERS = 300
"""Characters of a line that are printed."""


@dataclass(frozen=True)
class Intended:
    """A change that is intended: it is made to the old output before that is compared."""

    files: str
    """The pattern of their paths."""
    pattern: re.Pattern[str] | None
    """None where the whole file may differ."""
    replacement: str = ""

    def made_to(self, old: str, new: str) -> tuple[str, bool]:
        """Return the old output with the change, and whether it is in there."""
        if self.pattern is None:
            return new, old != new
        changed, times = self.pattern.subn(self.replacement, old)
        return changed, bool(times)


@dataclass(frozen=True)
class Comparison:
    """The differences between two folders of output."""

    differing: dict[Path, list[str]]
    """File -> the first lines of its difference."""
    new: list[Path]
    """Files that only the new revision could print."""
    unused: list[Intended]
    """Changes that no file has."""


def print_with(tree: Path, output: Path, *names: str) -> None:
    """Print all of the stored experiments of these names, by default all, with a tree's sources.

    Raises:
        CalledProcessError: Slowdust cannot even be imported.
    """
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "tests.same_output.print_all", output, *names],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": f"{tree / 'src'}:{ROOT}", "COLUMNS": "100"},
            check=True,
        )


def read_text(path: Path) -> str:
    """Return a file of output; a missing one reads as one whose command failed."""
    if not path.is_file():
        return f"{FAILED}there is no such file\n"
    return path.read_bytes().decode("utf-8", "surrogateescape")


def read_values(path: Path) -> str:
    """Return the keys, numbers and names of JSON and CSV; nothing of other files.

    Sentences, which are texts of more than one word, and empty texts are excluded.
    """
    text = read_text(path)
    try:
        values = json.loads(text)
    except ValueError:
        if path.suffix != ".csv":
            return ""
        rows = csv.reader(io.StringIO(text))
        return "\n".join(",".join(cell for cell in row if " " not in cell) for row in rows)
    return json.dumps(_without_sentences(values), indent=1)


def _without_sentences(value: object) -> object:
    """Return a value of JSON without sentences, and without lists and objects of nothing else."""
    match value:
        case str():
            return None if " " in value or not value else value
        case list():
            return [
                part for each in value if (part := _without_sentences(each)) is not None
            ] or None
        case dict():
            parts = {key: _without_sentences(each) for key, each in value.items()}
            return {key: part for key, part in parts.items() if part is not None} or None
        case _:
            return value


def compare(
    old: Path, new: Path, intended: Sequence[Intended] = (), read: Callable[[Path], str] = read_text
) -> Comparison:
    """Compare two folders of output, file by file, as `read` returns them."""
    comparison = Comparison({}, [], [*intended])
    for name in sorted({*_files(old), *_files(new)}):
        before, after = read(old / name), read(new / name)
        if FAILED in before and FAILED not in after:
            comparison.new.append(name)
            continue
        for change in intended:
            if before != after and fnmatchcase(str(name), change.files):
                before, is_there = change.made_to(before, after)
                if is_there and change in comparison.unused:
                    comparison.unused.remove(change)
        if before != after:
            lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
            comparison.differing[name] = list(lines)[2 : 2 + _MOST_LINES]
    return comparison


def read_intended(path: Path) -> list[Intended]:
    """Read the changes that are intended."""
    lines = path.read_text(encoding="utf-8").splitlines()
    columns = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [
        Intended(files, *((re.compile(rest[0]), rest[1]) if rest else (None,)))
        for files, *rest in columns
    ]


def main() -> int:
    """Compare; return the exit code."""
    parser = argparse.ArgumentParser(prog="tests.same_output", description=__doc__)
    parser.add_argument("revision", help="The earlier revision: a commit, a tag, a branch.")
    parser.add_argument(
        "--values", action="store_true", help="Compare JSON and CSV alone, without sentences."
    )
    parser.add_argument("kinds", nargs="*", help="The stored experiments.  [all]")
    options = parser.parse_args()
    revision: str = options.revision
    with tempfile.TemporaryDirectory() as scratch:
        old_tree, old, new = (Path(scratch) / name for name in ("tree", "old", "new"))
        _check_out(revision, old_tree)
        with ThreadPoolExecutor() as pool:
            trees = ((old_tree, old), (ROOT, new))
            list(pool.map(lambda each: print_with(*each, *options.kinds), trees))
        intended = read_intended(Path(__file__).with_name("intended.tsv"))
        read = read_values if options.values else read_text
        comparison = compare(old, new, intended, read)
        files = len(list(_files(new)))
    for name, lines in comparison.differing.items():
        print(f"{name} differs", *(line[:_MOST_CHARACTERS] for line in lines), sep="\n  ")
    for change in comparison.unused:
        pattern = "any" if change.pattern is None else change.pattern.pattern
        print(f"intended, but in no file: {pattern} in {change.files}")
    for folder, times in Counter(name.parent for name in comparison.new).items():
        print(f"{revision} cannot print {times} files of {folder}")
    if not ARCHIVE.is_dir():
        print(f"skipped: the published runs, which are not in {ARCHIVE.parents[1].name}/")
    print(
        f"{files} files compared with {revision}, {len(comparison.differing)} differ, "
        f"{len(comparison.new)} are new"
    )
    return 1 if comparison.differing else 0


def _check_out(revision: str, directory: Path) -> None:
    directory.mkdir()
    git = subprocess.run(
        ["git", "-C", ROOT, "archive", revision, "src"], check=True, capture_output=True
    )
    subprocess.run(["tar", "-x", "-C", directory], input=git.stdout, check=True)


def _files(directory: Path) -> Iterator[Path]:
    return (path.relative_to(directory) for path in directory.rglob("*") if path.is_file())


if __name__ == "__main__":
    sys.exit(main())
