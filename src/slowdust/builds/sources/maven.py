"""Builds that are Maven artifacts, fetched by the Maven client."""

from __future__ import annotations

import fnmatch
import shutil
import zipfile
from pathlib import Path, PurePosixPath

import msgspec

from slowdust.builds.catalog import Origin
from slowdust.builds.model import Progress, Runtime, Unpacked
from slowdust.builds.sources.client import fetch_file, first_match, taken_from_zip
from slowdust.places import within
from slowdust.temporary import temporary_folder
from slowdust.unpacking import Tree, UnsafeArchive, inside

_COPY = "org.apache.maven.plugins:maven-dependency-plugin:2.10:copy"
"""The goal of version 2.10: since 3.0 it reads the artifact's parents, which may be unpublished."""


class Options(msgspec.Struct, forbid_unknown_fields=True):
    """The artifact, and the parts of its jar that form the build."""

    artifact: str
    take: dict[str, str]
    """Pattern of one folder of the jar, or of one archive in it -> the folder of the build for its
    content; '.' is the top."""
    classifier: str | None = None
    libraries: list[str] = []


def describe(origin: Origin) -> str:
    """Describe an origin: 'maven GROUP:NAME:VERSION', with ':jar:CLASSIFIER' if there is one."""
    options = origin.options_as(Options)
    return f"maven {options.artifact}:{origin.version}" + _classifier(options)


def provide(origin: Origin, folder: Path, progress: Progress) -> Unpacked:
    """Fetch an artifact, which Maven verifies, and unpack its parts into an empty folder."""
    options = origin.options_as(Options)
    progress(f"fetching {describe(origin)}")
    jar = fetch_file(
        [
            "mvn",
            "--batch-mode",
            "--quiet",
            # By default Maven only warns about a wrong checksum.
            "--strict-checksums",
            "-Dstyle.color=never",
            _COPY,
            f"-Dartifact={options.artifact}:{origin.version}{_classifier(options)}",
            f"-DoutputDirectory={folder}",
        ],
        folder,
        "*.jar",
        first_match(r"\[ERROR\](.*?)(?:-> \[Help.*)?$"),
        describe(origin),
    )
    progress(f"unpacking {describe(origin)}")
    binaries = folder / "binaries"
    with taken_from_zip(jar, binaries) as (file, tree):
        for pattern, place in options.take.items():
            _take(file, pattern, inside(PurePosixPath(), place), tree)
    libraries = tuple(inside(binaries, name) for name in options.libraries)
    return Unpacked(binaries, describe(origin), Runtime(libraries=libraries))


def _classifier(options: Options) -> str:
    return f":jar:{options.classifier}" if options.classifier else ""


def _take(jar: zipfile.ZipFile, pattern: str, place: PurePosixPath, tree: Tree) -> None:
    files = {PurePosixPath(name) for name in jar.namelist() if not name.endswith("/")}
    folders = {parent for file in files for parent in file.parents}
    matching = [path for path in files | folders if fnmatch.fnmatchcase(str(path), pattern)]
    if len(matching) != 1:
        raise UnsafeArchive(f"{jar.filename} has {len(matching)} members like {pattern}, not one")
    if matching[0] in folders:
        tree.add_zip(jar, matching[0], place)
        return
    with temporary_folder() as folder:
        # The archive keeps its name for messages.
        archive = within(folder, matching[0].name)
        with jar.open(str(matching[0])) as member, archive.open("wb") as copy:
            shutil.copyfileobj(member, copy)
        tree.add(archive, place)
