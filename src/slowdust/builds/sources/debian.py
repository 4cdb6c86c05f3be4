"""Builds that are Debian packages, unpacked into a private root directory.

apt resolves and verifies the packages and all their dependencies, the C library included; they are
unpacked, not installed: none of their scripts runs. Their programs are started through the dynamic
loader of that root, with its libraries, independently of this machine's.
The root has Debian's merged /usr: /lib is a link to /usr/lib, wherever a package has its files.
`packages.txt` in the root names every package with its version and hash.
"""

from __future__ import annotations

import copy
import hashlib
import re
import tarfile
from pathlib import Path, PurePosixPath

import msgspec

from slowdust.accounts import server_account
from slowdust.builds.catalog import Origin
from slowdust.builds.model import Progress, Runtime, Unpacked
from slowdust.builds.sources.apt import PrivateApt
from slowdust.builds.sources.client import SourceUnavailable, run_client
from slowdust.unpacking import Tree, relative_to_root

LISTING = "packages.txt"
_LIBRARIES = "usr/lib/x86_64-linux-gnu"
_LOADER = "ld-linux-x86-64.so.2"
_MERGED = ("bin", "lib", "lib64", "sbin")
"""Folders of the root that are links to the folders of the same name below usr."""


class Options(msgspec.Struct, forbid_unknown_fields=True):
    """The packages, and their suite."""

    suite: str
    packages: list[str]
    """The names of the packages; the first one's version is the version of the catalog."""
    component: str = "main"


def describe(origin: Origin) -> str:
    """Describe an origin: 'debian SUITE PACKAGE VERSION'."""
    return _described(origin.options_as(Options), origin.version)


def provide(origin: Origin, folder: Path, progress: Progress) -> Unpacked:
    """Fetch, verify and unpack packages and their dependencies below an empty folder."""
    options = origin.options_as(Options)
    apt = PrivateApt(folder / "apt", options.suite, options.component)
    progress(f"fetching the list of packages of Debian's suite {options.suite}")
    apt.update()
    version = apt.candidate(options.packages[0])
    if not _is_version(version, origin.version):
        raise SourceUnavailable(f"Debian's suite {options.suite} has {version} now")
    progress(f"fetching {_described(options, version)} and its dependencies")
    packages = apt.download(options.packages)
    progress(f"unpacking {len(packages)} packages")
    root = folder / "root"
    _unpack(packages, root)
    (root / LISTING).write_text(_listing(packages, folder), encoding="utf-8")
    return Unpacked(root, _described(options, version), _runtime(root))


def in_merged_usr(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Unify packages with the links of a merged /usr and packages with files in their place."""
    name = str(PurePosixPath(member.name))
    if member.issym() and name in _MERGED and member.linkname == f"usr/{name}":
        return None
    merged = copy.copy(member)
    merged.name = _merged(member.name)
    if member.islnk():
        merged.linkname = _merged(member.linkname)
    return relative_to_root(merged)


def _merged(name: str) -> str:
    path = PurePosixPath(name)
    return str("usr" / path if path.parts[:1] in {(top,) for top in _MERGED} else path)


def _runtime(root: Path) -> Runtime:
    libraries = root / _LIBRARIES
    if not libraries.is_dir():
        return Runtime()
    loader = libraries / _LOADER
    return Runtime(loader if loader.is_file() else None, (libraries,))


def _described(options: Options, version: str) -> str:
    return f"debian {options.suite} {options.packages[0]} {version}"


def _is_version(packaged: str, wanted: str) -> bool:
    """Return whether '1:10.11.18-0+deb12u1' is wanted, as '10.11.18' or in full."""
    return wanted in {packaged, upstream(packaged)}


def upstream(packaged: str) -> str:
    """Return '11.8.9' for '1:11.8.9+ds-4', without the epoch and Debian's suffix."""
    return re.sub(r"[^\d.].*", "", packaged.partition(":")[2] or packaged)


def _unpack(packages: list[Path], root: Path) -> None:
    tree = Tree(root, in_merged_usr)
    account = server_account()
    for package in packages:
        try:
            with package.open("rb") as content:
                tree.add_output(["dpkg-deb", "--fsys-tarfile", "-"], account, package.name, content)
        except FileNotFoundError:
            raise SourceUnavailable("dpkg-deb is not installed") from None
    for name in _MERGED:
        (root / name).symlink_to(f"usr/{name}")
    tree.finish()


def _listing(packages: list[Path], folder: Path) -> str:
    lines = []
    for package in packages:
        form = "--showformat=${Package} ${Version} ${Architecture}"
        identity = run_client(
            ["dpkg-deb", "--show", form, str(package)], folder, lambda _out, _err: None
        )
        with package.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        lines.append(f"{identity.strip()} sha256:{digest}\n")
    return "".join(lines)
