"""Run directories that were packed into tar archives, one each."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from slowdust.archive.problems import Problem
from slowdust.archive.walking import Visited, walk
from slowdust.errors import SlowdustError
from slowdust.temporary import temporary_folder
from slowdust.unpacking import MAX_UNPACKED_BYTES, Tree

_PACKED = re.compile(r"(?P<run>x\..+)\.(?:tar(?:\.(?:gz|xz|bz2))?|tgz)")
_BESIDE = "packed, and also there as a directory, which is used"
_EMPTY = "packed, and there is no file in it"


@dataclass
class Packed:
    """A place to unpack run directories to."""

    place: Path
    left: int = MAX_UNPACKED_BYTES
    """Bytes that all of them may still unpack to."""

    def open(self, visited: Visited) -> Iterator[Visited]:
        """Unpack the archives among a directory's files, and yield the directories in them.

        They are taken out of `visited.names`; problems of theirs are added to its own.
        """
        for name in list(visited.names):
            match = _PACKED.fullmatch(name)
            if match is None:
                continue
            visited.names.remove(name)
            path = visited.path / name
            if (visited.path / match["run"]).is_dir():
                visited.problems.append(Problem(path, _BESIDE))
                continue
            folder = self.place / str(len(list(self.place.iterdir()))) / match["run"]
            try:
                self._unpack(path, folder)
            except SlowdustError as error:
                shutil.rmtree(folder.parent)
                visited.problems.append(Problem(path, str(error).removeprefix(f"{name}: ")))
                continue
            directories = [below for below in walk(folder) if below.names]
            if not directories:
                visited.problems.append(Problem(path, _EMPTY))
            yield from directories

    def _unpack(self, archive: Path, folder: Path) -> None:
        tree = Tree(folder, most=self.left)
        tree.add(archive, PurePosixPath())
        tree.finish()
        self.left = tree.left


@contextmanager
def place_for_packed() -> Iterator[Packed]:
    """Make a place, which is removed in the end, or by the next run if this one is killed."""
    with temporary_folder() as place:
        yield Packed(place)
