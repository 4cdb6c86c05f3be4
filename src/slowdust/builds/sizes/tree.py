"""The sizes of object files and static libraries of a build tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from slowdust.errors import UsageError
from slowdust.formats import elf
from slowdust.store.sizes import ObjectFile, ObjectFolder, TreeSizes

_LARGEST = 20


def sizes_of_tree(directory: Path) -> TreeSizes:
    """Return the sizes of all object files (`*.o`) and static libraries (`*.a`) below a directory.

    Files that are called so and are something else are left out. Links are not followed.

    Raises:
        UsageError: there are none.
    """
    objects = _files(directory, "*.o", elf.is_elf)
    libraries = _files(directory, "*.a", _is_library)
    if not (objects or libraries):
        raise UsageError(
            f"{directory} is no build tree: it has neither object files (*.o) nor static libraries "
            "(*.a)"
        )
    folders: dict[str, tuple[list[ObjectFile], list[ObjectFile]]] = {}
    for place, files in enumerate((objects, libraries)):
        for file in files:
            head, slash, _ = file.path.partition("/")
            folders.setdefault(head if slash else ".", ([], []))[place].append(file)
    sums = [_folder(path, *files) for path, files in folders.items()]
    return TreeSizes(
        directory=str(directory),
        total=_folder(".", objects, libraries),
        folders=sorted(sums, key=lambda sum_: -(sum_.object_bytes + sum_.library_bytes)),
        largest=sorted((*objects, *libraries), key=lambda file: -file.bytes)[:_LARGEST],
    )


def _files(directory: Path, pattern: str, accepts: Callable[[Path], bool]) -> list[ObjectFile]:
    return [
        ObjectFile(path=str(path.relative_to(directory)), bytes=path.stat().st_size)
        for path in sorted(directory.rglob(pattern))
        if path.is_file() and not path.is_symlink() and accepts(path)
    ]


def _is_library(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(8) in (b"!<arch>\n", b"!<thin>\n")


def _folder(
    path: str, objects: Sequence[ObjectFile], libraries: Sequence[ObjectFile]
) -> ObjectFolder:
    return ObjectFolder(
        path=path,
        objects=len(objects),
        object_bytes=sum(file.bytes for file in objects),
        libraries=len(libraries),
        library_bytes=sum(file.bytes for file in libraries),
    )
