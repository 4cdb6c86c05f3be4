"""Compare the output of this work tree with that of an earlier revision.

`python -m tests.same_output REVISION` prints the reports of the stored experiments in
tests/experiments and of the published runs beside the project with both, and lists the files that
differ. It exits with 1 where any does.
"""

from __future__ import annotations

import argparse
import difflib
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXPERIMENTS = ROOT / "tests" / "experiments"
ARCHIVE = ROOT.parent / "shared" / "archive" / "runs"
SLICES = "slices.ndjson"
_MOST_LINES = 12


def unpack_experiments(results: Path) -> None:
    """Copy the measured experiments of the tests into a results folder."""
    for source in sorted(EXPERIMENTS.iterdir()):
        folder = results / source.name
        shutil.copytree(source, folder)
        compressed = folder / f"{SLICES}.gz"
        (folder / SLICES).write_bytes(gzip.decompress(compressed.read_bytes()))
        compressed.unlink()


def print_with(tree: Path, output: Path, archives: Sequence[Path]) -> None:
    """Print all reports with the sources of `tree`.

    Raises:
        CalledProcessError: Slowdust ended with a traceback.
    """
    with tempfile.TemporaryDirectory() as results:
        unpack_experiments(Path(results))
        script = Path(__file__).with_name("print_all.py")
        subprocess.run(
            [sys.executable, script, results, output, *archives],
            env=os.environ | {"PYTHONPATH": str(tree / "src"), "COLUMNS": "100"},
            check=True,
        )


def differences(
    old: Path, new: Path, wording: Sequence[tuple[str, str]]
) -> Iterator[tuple[Path, list[str]]]:
    """Yield each file that is not the same in both, with the first lines of the difference.

    `wording` has the changes of words (regular expression, replacement) that are made to the old
    output before it is compared.
    """
    for name in sorted({*_files(old), *_files(new)}):
        before, after = _read(old / name), _read(new / name)
        for pattern, replacement in wording:
            before = re.sub(pattern, replacement, before)
        if before != after:
            lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
            yield name, list(lines)[2 : 2 + _MOST_LINES]


def main() -> int:
    """Compare; return the exit code."""
    parser = argparse.ArgumentParser(prog="tests.same_output", description=__doc__)
    parser.add_argument("revision", help="The earlier revision: a commit, a tag, a branch.")
    parser.add_argument(
        "--wording",
        type=Path,
        default=Path(__file__).with_name("wording.tsv"),
        help="Lines PATTERN<tab>REPLACEMENT, made to the old output first.  [wording.tsv]",
    )
    arguments = parser.parse_args()
    archives = [ARCHIVE] if ARCHIVE.is_dir() else []
    wording = _read_wording(arguments.wording)
    with tempfile.TemporaryDirectory() as scratch:
        old_tree, old, new = (Path(scratch) / name for name in ("tree", "old", "new"))
        _check_out(arguments.revision, old_tree)
        print_with(old_tree, old, archives)
        print_with(ROOT, new, archives)
        differing = list(differences(old, new, wording))
        files = len(list(_files(new)))
    for name, lines in differing:
        print(f"{name} differs", *lines, sep="\n  ")
    if not archives:
        print(f"left out: the published runs, which are not in {ARCHIVE.parents[1].name}/")
    print(f"{files} files compared with {arguments.revision}, {len(differing)} differ")
    return 1 if differing else 0


def _check_out(revision: str, directory: Path) -> None:
    directory.mkdir()
    git = subprocess.run(
        ["git", "-C", ROOT, "archive", revision, "src"], check=True, capture_output=True
    )
    subprocess.run(["tar", "-x", "-C", directory], input=git.stdout, check=True)


def _read_wording(path: Path) -> list[tuple[str, str]]:
    lines = [
        line
        for line in path.read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    return [
        (pattern, replacement) for pattern, _, replacement in (x.partition("\t") for x in lines)
    ]


def _files(directory: Path) -> Iterator[Path]:
    return (path.relative_to(directory) for path in directory.rglob("*") if path.is_file())


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogateescape") if path.is_file() else ""


if __name__ == "__main__":
    sys.exit(main())
