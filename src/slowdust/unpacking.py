"""Unpacking of untrusted archives: nothing may be written or linked outside one folder.

Members of tar archives pass tarfile's data filter (PEP 706), which refuses paths and links that
lead elsewhere, and everything but directories, regular files and links. The rules here are
stricter: modes and owner are fixed, a path that would have to be mended is refused, links are made
after all files, so that no file can be written through one, and no file twice.
"""

from __future__ import annotations

import copy
import lzma
import os
import shutil
import stat
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, TypeVar

from slowdust.accounts import Account
from slowdust.errors import SlowdustError
from slowdust.places import stays_below

_SAFE = tarfile if hasattr(tarfile, "data_filter") else import_module("backports.tarfile")
"""The module with extraction filters: Python before 3.11.4, as Debian 12 has it, has none."""
MAX_UNPACKED_BYTES = 8 << 30
_DEEPEST = 100
"""Folders in each other that an archive may have."""
MOST_MEMBERS = 300_000
"""Members of a tar archive: twice those of the largest sources."""
_LONGEST_HEADER = 64 << 10
"""Bytes of a header that describes the member after it, by a long name or by attributes (pax)."""
_LONG_HEADERS = frozenset(
    {
        *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE),
        tarfile.SOLARIS_XHDTYPE,
    }
)
_DIRECTORY_MODE = 0o755
_PROGRAM_MODE = 0o755
_FILE_MODE = 0o644
_JAR_DESCRIPTION = "META-INF"
"""The folder in every jar that describes the jar itself."""
_PROGRAM_BEGINNINGS = (b"\x7fELF", b"#!")

AnyPath = TypeVar("AnyPath", bound=PurePath)

MemberRule = Callable[[tarfile.TarInfo], tarfile.TarInfo | None]
"""A function: a member of a tar archive -> the member to unpack or None; raises UnsafeArchive."""


class UnsafeArchive(SlowdustError):  # noqa: N818 - names the thing, as the message does
    """An archive that is damaged, or that has a path outside its folder."""


class BadMemberError(Exception):
    """A member that is not read, or too many of them."""


FAULTS = (
    BadMemberError,
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError),
    *(ValueError, ArithmeticError, LookupError, AttributeError, TypeError, RuntimeError),
)
"""The errors of `tarfile` and `zipfile` about damaged archives; a row of headers is a recursion."""


class BoundedMember(tarfile.TarInfo):
    """A member of a tar archive of anybody: its headers fill no memory.

    `tarfile` reads long names, attributes and the maps of sparse files whole, before anybody sees
    the member.
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> BoundedMember:
        """Refuse a header that `tarfile` would read more than a few kilobytes for."""
        member = super().frombuf(buf, encoding, errors)
        if member.type in _LONG_HEADERS and not 0 <= member.size <= _LONGEST_HEADER:
            raise BadMemberError(
                f"a header of {member.size:,} bytes: a name or attributes have at most "
                f"{_LONGEST_HEADER:,}"
            )
        if member.type == tarfile.GNUTYPE_SPARSE:
            raise BadMemberError("a sparse file, which is not read")
        return member

    def _proc_gnusparse_10(self, *_: object) -> None:
        """Refuse the sparse files whose map is a part of their content."""
        raise BadMemberError("a sparse file, which is not read")


def members_of(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yield the members of an archive opened with `BoundedMember`, each of which is forgotten.

    Raises:
        BadMemberError: there are too many, or one that cannot be.
    """
    for _ in range(MOST_MEMBERS):
        member = archive.next()
        if member is None:
            return
        # tarfile would keep all members, each with the attributes of all before it.
        archive.members.clear()  # type: ignore[attr-defined]
        archive.pax_headers = {}
        if member.size < 0 or member.issparse():
            raise BadMemberError(f"{member.name!r} is a sparse file, or has no size")
        yield member
    raise BadMemberError(f"the archive has more than {MOST_MEMBERS:,} members")


def every_member(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Return the member as it is: the rule for archives that may be unpacked anywhere."""
    return member


def relative_to_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Make absolute targets of links relative: the rule for archives of a root directory."""
    if not (member.issym() and PurePosixPath(member.linkname).is_absolute()):
        return member
    relative = copy.copy(member)
    relative.linkname = os.path.relpath(member.linkname, PurePosixPath("/", member.name).parent)
    return relative


def unpack(archive: Path, folder: Path) -> None:
    """Unpack one archive into a folder; see `Tree`."""
    tree = Tree(folder)
    tree.add(archive, PurePosixPath())
    tree.finish()


class Tree:
    """A folder that archives are unpacked into; it is complete after `finish`.

    All users can read its files, since servers run as another user. Its methods raise UnsafeArchive
    for absolute paths, '..', links that leave the folder, links in the place of a directory,
    devices, pipes, a file that exists already, and a file that is not an archive.
    """

    def __init__(
        self, folder: Path, rule: MemberRule = every_member, most: int = MAX_UNPACKED_BYTES
    ) -> None:
        self._folder = folder
        self._rule = rule
        self._most = most
        self.left = most
        """Bytes that may still be unpacked."""
        self._links: list[tuple[Path, Path, tarfile.TarInfo]] = []
        """Folder of the archive that has the link, path, and member."""
        folder.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)

    def add(self, archive: Path, place: PurePosixPath) -> None:
        """Unpack a zip archive, or a tar archive of any compression, at a place in the folder."""
        with _named_errors(archive.name):
            if zipfile.is_zipfile(archive):
                with zipfile.ZipFile(archive) as file:
                    self.add_zip(file, PurePosixPath(), place)
            else:
                with tarfile.open(archive, tarinfo=BoundedMember) as tar:
                    self._add_tar(tar, place)

    def add_stream(self, stream: IO[bytes], name: str) -> None:
        """Unpack a tar archive from a pipe; `name` is for messages."""
        with (
            _named_errors(name),
            tarfile.open(fileobj=stream, mode="r|", tarinfo=BoundedMember) as tar,
        ):
            self._add_tar(tar, PurePosixPath())

    def add_output(
        self, command: Sequence[str], account: Account, name: str, source: IO[bytes] | None = None
    ) -> None:
        """Unpack the tar archive that a program prints; `name` is for messages.

        The account runs it, since what it reads is of others: root could be led to read more than
        they may. `source` is its standard input. Raises FileNotFoundError where there is no such
        program.
        """
        with subprocess.Popen(
            command,
            stdin=source or subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            **account.identity(),
        ) as process:
            assert process.stdout is not None
            self.add_stream(process.stdout, name)
            process.stdout.read()  # without a reader to the end of its output, it would fail
        if process.returncode != 0:
            raise UnsafeArchive(f"{name}: {command[0]} cannot unpack it")

    def add_zip(self, archive: zipfile.ZipFile, below: PurePosixPath, place: PurePosixPath) -> None:
        """Unpack a folder of an open zip archive at a place in this folder.

        Modes in zip archives are often missing: programs are known by their first bytes.
        """
        root = self._folder / place
        for member in archive.infolist():
            if "\\" in member.filename:
                # Some programs write it for '/', against the format.
                raise UnsafeArchive(f"the archive has an unsafe path: {member.filename!r}")
            name = inside(PurePosixPath(), member.filename)
            if not name.is_relative_to(below) or name.is_relative_to(_JAR_DESCRIPTION):
                continue
            path = inside(root, str(name.relative_to(below)))
            if member.is_dir():
                make_folder(self._folder, path)
                continue
            if stat.S_ISLNK(member.external_attr >> 16):
                raise UnsafeArchive(f"the archive has a special file: {member.filename!r}")
            with archive.open(member) as content:
                beginning = content.read(4)
                content.seek(0)
                mode = _PROGRAM_MODE if beginning.startswith(_PROGRAM_BEGINNINGS) else _FILE_MODE
                self._write(path, content, member.file_size, mode)

    def finish(self) -> None:
        """Make the links, after all files."""
        for root, path, member in self._links:
            if path.is_symlink() or path.exists():
                raise UnsafeArchive(f"the archive has two members of the name {member.name!r}")
            make_folder(self._folder, path.parent)
            if member.issym():
                path.symlink_to(member.linkname)
                continue
            original = inside(root, member.linkname)
            if original.is_symlink() or not original.is_file():
                raise UnsafeArchive(f"the archive has a hard link to no file: {member.name!r}")
            path.hardlink_to(original)
        self._links.clear()
        check_links_inside(self._folder)

    def _add_tar(self, tar: tarfile.TarFile, place: PurePosixPath) -> None:
        root = self._folder / place
        for member in filter(None, map(self._rule, members_of(tar))):
            path = inside(root, member.name)
            self._check(member, place)
            if member.issym() or member.islnk():
                self._links.append((root, path, member))
            elif member.isdir():
                make_folder(self._folder, path)
            else:
                content = tar.extractfile(member) if member.isreg() else None
                if content is None:
                    raise UnsafeArchive(f"the archive has a special file: {member.name!r}")
                mode = _PROGRAM_MODE if member.mode & 0o100 else _FILE_MODE
                self._write(path, content, member.size, mode)

    def _check(self, member: tarfile.TarInfo, place: PurePosixPath) -> None:
        """Ask tarfile's filter about a member that will be at a place in the folder."""
        moved = _SAFE.TarInfo(str(place / member.name))
        moved.type, moved.mode = member.type, member.mode
        moved.linkname = str(place / member.linkname) if member.islnk() else member.linkname
        try:
            _SAFE.data_filter(moved, str(self._folder))
        except _SAFE.FilterError as error:
            raise UnsafeArchive(f"the archive is not safe to unpack: {error}") from error

    def _write(self, path: Path, content: IO[bytes], size: int, mode: int) -> None:
        self.left -= size
        if self.left < 0:
            raise UnsafeArchive(f"the archive unpacks to more than {self._most} bytes")
        make_folder(self._folder, path.parent)
        # 'x': a second member of the same name would silently replace the first.
        with path.open("xb") as output:
            shutil.copyfileobj(content, output)
        path.chmod(mode)


def inside(folder: AnyPath, name: str) -> AnyPath:
    """Return the path of a name below a folder; raise UnsafeArchive for a path outside."""
    path = PurePosixPath(name)
    if not stays_below(path):
        raise UnsafeArchive(f"the archive has an unsafe path: {name!r}")
    if len(path.parts) > _DEEPEST:
        raise UnsafeArchive(f"the archive has more than {_DEEPEST} folders in each other")
    return folder / path


def make_folder(root: Path, folder: Path) -> None:
    """Make a folder and its parents below a root; raise UnsafeArchive when one is a link."""
    for path in (folder, *folder.parents):
        if path == root:
            break
        if path.is_symlink():
            raise UnsafeArchive(f"the archive has a path through a link: {path.name!r}")
    folder.mkdir(parents=True, exist_ok=True)


def check_links_inside(folder: Path) -> None:
    """Raise UnsafeArchive when a link below a folder leads out of it."""
    root = folder.resolve()
    for path in folder.rglob("*"):
        if not path.is_symlink():
            continue
        try:
            target = path.resolve()
        except (OSError, RuntimeError) as error:  # a loop of links
            text = f"the archive has a link that leads nowhere: {path.name!r}"
            raise UnsafeArchive(text) from error
        if not target.is_relative_to(root):
            raise UnsafeArchive(f"the archive has a link that leaves its folder: {path.name!r}")


def open_to_all(folder: Path) -> None:
    """Let all users enter a folder and the folders below it, independently of the umask."""
    for path in (folder, *folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(_DIRECTORY_MODE)


@contextmanager
def _named_errors(archive: str) -> Iterator[None]:
    try:
        yield
    except FAULTS as error:
        raise UnsafeArchive(f"{archive}: cannot be unpacked: {fault(error)}") from error


def fault(error: Exception) -> str:
    """Say in one line what is wrong with an archive."""
    if isinstance(error, RecursionError):
        return "too many headers in a row"
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(":")
