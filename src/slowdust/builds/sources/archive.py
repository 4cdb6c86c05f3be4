"""Unpacking archives of strangers: nothing may be written, linked or made outside one folder.

Only directories, regular files and links are made, with modes and an owner of our own choice;
links are made after all files, so that no file can be written through one. This does not lean on
tarfile's extraction filters, since they are not in every Python 3.11.
"""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path, PurePosixPath

from slowdust.errors import SlowdustError

MAX_UNPACKED_BYTES = 8 << 30
_DIRECTORY_MODE = 0o755
_PROGRAM_MODE = 0o755
_FILE_MODE = 0o644


class UnsafeArchive(SlowdustError):  # noqa: N818 - names the thing, as the message does
    """An archive that is damaged or that reaches out of its folder."""


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a tar archive, however it is compressed, into a new folder.

    Its files are readable by all users, since servers do not run as the one who unpacks.
    Raises UnsafeArchive for absolute paths, '..', links that leave the folder, links in the place
    of a directory, devices, pipes, and what is no archive.
    """
    folder.mkdir(mode=_DIRECTORY_MODE)
    links: list[tuple[Path, tarfile.TarInfo]] = []
    try:
        with tarfile.open(archive) as tar:
            budget = MAX_UNPACKED_BYTES
            for member in tar:
                budget -= member.size
                if budget < 0:
                    raise UnsafeArchive(
                        f"{archive.name}: unpacks to more than {MAX_UNPACKED_BYTES} bytes"
                    )
                place = inside(folder, member.name)
                if member.issym() or member.islnk():
                    links.append((place, member))
                else:
                    _unpack_member(tar, member, place)
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        raise UnsafeArchive(f"{archive.name}: cannot be unpacked: {error}") from error
    for place, member in links:
        _make_link(folder, place, member)
    check_links_inside(folder)


def inside(folder: Path, name: str) -> Path:
    """The path of a name below a folder; UnsafeArchive when the name is no such path."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name or "\\" in name:
        raise UnsafeArchive(f"the archive has an unsafe path: {name!r}")
    return folder / path


def make_parents(folder: Path, place: Path) -> None:
    """Make the folders in which a link will lie; UnsafeArchive when one of them is a link."""
    for parent in place.parents:
        if parent != folder and parent.is_relative_to(folder) and parent.is_symlink():
            raise UnsafeArchive(f"the archive reaches through a link: {place.name!r}")
    place.parent.mkdir(parents=True, exist_ok=True)


def check_links_inside(folder: Path) -> None:
    """UnsafeArchive when a link below a folder leads out of it."""
    root = folder.resolve()
    for path in folder.rglob("*"):
        if path.is_symlink() and not _final_target(path).is_relative_to(root):
            raise UnsafeArchive(f"the archive has a link that leaves its folder: {path.name!r}")


def open_to_all(folder: Path) -> None:
    """Let all users enter a folder and those below it, whatever the umask made of them."""
    for path in (folder, *folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(_DIRECTORY_MODE)


def _final_target(link: Path) -> Path:
    try:
        return link.resolve()
    except (OSError, RuntimeError) as error:  # a loop of links
        raise UnsafeArchive(f"the archive has a link that leads nowhere: {link.name!r}") from error


def _unpack_member(tar: tarfile.TarFile, member: tarfile.TarInfo, place: Path) -> None:
    if member.isdir():
        place.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
        return
    content = tar.extractfile(member) if member.isreg() else None
    if content is None:
        raise UnsafeArchive(f"the archive has a special file: {member.name!r}")
    place.parent.mkdir(parents=True, exist_ok=True)
    # 'x': a second member of the same name would silently replace the first.
    with content, place.open("xb") as output:
        shutil.copyfileobj(content, output)
    place.chmod(_PROGRAM_MODE if member.mode & 0o100 else _FILE_MODE)


def _make_link(folder: Path, place: Path, member: tarfile.TarInfo) -> None:
    if place.is_symlink() or place.exists():
        raise UnsafeArchive(f"the archive has two members of the name {member.name!r}")
    make_parents(folder, place)
    if member.issym():
        if PurePosixPath(member.linkname).is_absolute():
            raise UnsafeArchive(f"the archive has a link that leaves its folder: {member.name!r}")
        place.symlink_to(member.linkname)
    else:
        target = inside(folder, member.linkname)
        if target.is_symlink() or not target.is_file():
            raise UnsafeArchive(f"the archive has a hard link to no file: {member.name!r}")
        place.hardlink_to(target)
