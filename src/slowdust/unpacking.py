"""Unpacking of untrusted archives: nothing is written or linked outside one folder.

Members of tar archives pass tarfile's data filter (PEP 706), which rejects paths and links that
lead outside, and everything except directories, regular files and links. The rules here are
stricter: modes and owner are fixed, paths that would need a correction are rejected, links are
created after all files so that no file is written through a link, and no file is written twice.
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
"""The module with extraction filters: Python before 3.11.4, as in Debian 12, has none."""
MAX_UNPACKED_BYTES = 8 << 30
_DEEPEST = 100
"""Maximum number of nested folders of an archive."""
MOST_MEMBERS = 300_000
"""Maximum number of members of a tar archive: twice as many as the largest source archive has."""
_LONGEST_HEADER = 64 << 10
"""Maximum number of bytes of a header with a long name or attributes (pax) of the next member."""
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
"""Member of a tar archive -> the member to unpack, or None; raises UnsafeArchive."""


class UnsafeArchive(SlowdustError):  # noqa: N818 - names the thing, as the message does
    """An archive is damaged, or has a path outside its folder."""


class BadMemberError(Exception):
    """A member cannot be read, or there are too many."""


FAULTS = (
    BadMemberError,
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError),
    *(ValueError, ArithmeticError, LookupError, AttributeError, TypeError, RuntimeError),
)
"""Errors of `tarfile` and `zipfile` about damaged archives; many headers in a row recurse."""


class BoundedMember(tarfile.TarInfo):
    """A member of an untrusted tar archive, with bounded headers.

    `tarfile` reads long names, attributes and the maps of sparse files completely, before it
    returns the member.
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> BoundedMember:
        """Reject a header that makes `tarfile` read more than a few kilobytes."""
        member = super().frombuf(buf, encoding, errors)
        if member.type in _LONG_HEADERS and not 0 <= member.size <= _LONGEST_HEADER:
            raise BadMemberError(
                f"a header has {member.size:,} bytes; at most {_LONGEST_HEADER:,} are allowed"
            )
        if member.type == tarfile.GNUTYPE_SPARSE:
            raise BadMemberError("it contains a sparse file")
        return member

    def _proc_gnusparse_10(self, *_: object) -> None:
        """Reject sparse files whose map is part of their content."""
        raise BadMemberError("it contains a sparse file")


def each_member(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yield the members of an archive opened with `BoundedMember`, without keeping them in memory.

    Raises:
        BadMemberError: there are too many, or one is invalid.
    """
    for _ in range(MOST_MEMBERS):
        member = archive.next()
        if member is None:
            return
        # tarfile would keep all members, each with the attributes of its predecessors.
        archive.members.clear()  # type: ignore[attr-defined]
        archive.pax_headers = {}
        if member.size < 0 or member.issparse():
            raise BadMemberError(f"{member.name!r} is a sparse file, or has no size")
        yield member
    raise BadMemberError(f"the archive has more than {MOST_MEMBERS:,} members")


def every_member(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Return the member unchanged: the rule for archives that may be unpacked anywhere."""
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

    All users can read its files, because servers run as another user. Its methods raise
    UnsafeArchive for absolute paths, '..', links that leave the folder, links in place of a
    directory, devices, pipes, a file that exists already, and a file that is not an archive.
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
        """Folder of the archive, path and member of each link."""
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

        The account runs it, because its input is untrusted: as root it could read files that others
        may not. `source` is its standard input. Raises FileNotFoundError if there is no such
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
            process.stdout.read()  # it would fail if its output were not read to the end
        if process.returncode != 0:
            raise UnsafeArchive(f"{name}: {command[0]} cannot unpack it")

    def add_zip(self, archive: zipfile.ZipFile, below: PurePosixPath, place: PurePosixPath) -> None:
        """Unpack a folder of an open zip archive at a place in this folder.

        Zip archives often lack modes, so programs are recognised by their first bytes.
        """
        root = self._folder / place
        for member in archive.infolist():
            if "\\" in member.filename:
                # Some programs write '\\' for '/', against the format.
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
        """Create the links, after all files."""
        for root, path, member in self._links:
            if path.is_symlink() or path.exists():
                raise UnsafeArchive(f"the archive has two members named {member.name!r}")
            make_folder(self._folder, path.parent)
            if member.issym():
                path.symlink_to(member.linkname)
                continue
            original = inside(root, member.linkname)
            if original.is_symlink() or not original.is_file():
                raise UnsafeArchive(
                    f"the archive has a hard link without a target: {member.name!r}"
                )
            path.hardlink_to(original)
        self._links.clear()
        check_links_inside(self._folder)

    def _add_tar(self, tar: tarfile.TarFile, place: PurePosixPath) -> None:
        root = self._folder / place
        for member in filter(None, map(self._rule, each_member(tar))):
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
        """Check a member at its place in the folder with tarfile's filter."""
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
        # 'x': a second member of the same name must not replace the first silently.
        with path.open("xb") as output:
            shutil.copyfileobj(content, output)
        path.chmod(mode)


def inside(folder: AnyPath, name: str) -> AnyPath:
    """Return the path of a name below a folder. Raises UnsafeArchive for a path outside."""
    path = PurePosixPath(name)
    if not stays_below(path):
        raise UnsafeArchive(f"the archive has an unsafe path: {name!r}")
    if len(path.parts) > _DEEPEST:
        raise UnsafeArchive(f"the archive has more than {_DEEPEST} nested folders")
    return folder / path


def make_folder(root: Path, folder: Path) -> None:
    """Create a folder and its parents below a root. Raises UnsafeArchive if one is a link."""
    for path in (folder, *folder.parents):
        if path == root:
            break
        if path.is_symlink():
            raise UnsafeArchive(f"the archive has a path through a link: {path.name!r}")
    folder.mkdir(parents=True, exist_ok=True)


def check_links_inside(folder: Path) -> None:
    """Raise UnsafeArchive if a link below a folder leads out of it."""
    root = folder.resolve()
    for path in folder.rglob("*"):
        if not path.is_symlink():
            continue
        try:
            target = path.resolve()
        except (OSError, RuntimeError) as error:  # a loop of links
            text = f"the archive has a broken link: {path.name!r}"
            raise UnsafeArchive(text) from error
        if not target.is_relative_to(root):
            raise UnsafeArchive(f"the archive has a link that leaves its folder: {path.name!r}")


def open_to_all(folder: Path) -> None:
    """Allow all users to enter a folder and the folders below it; ignore the umask."""
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
    """Return the error of an archive in one line."""
    if isinstance(error, RecursionError):
        return "too many headers in a row"
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(":")
