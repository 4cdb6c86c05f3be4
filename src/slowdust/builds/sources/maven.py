"""Builds that are Maven artifacts, fetched by the Maven client into the ordinary local repository.

Options of the origin: `artifact`, GROUP:NAME; `member`, a pattern for the one archive in the jar.
"""

from __future__ import annotations

import fnmatch
import shutil
import zipfile
from pathlib import Path

from slowdust.builds.catalog import Origin
from slowdust.builds.model import Progress
from slowdust.builds.sources.archive import UnsafeArchive, unpack
from slowdust.builds.sources.client import SourceUnavailable, one_line, run_client

_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"


def describe(origin: Origin) -> str:
    """'maven GROUP:NAME:VERSION'."""
    return f"maven {origin.options['artifact']}:{origin.version}"


def provide(origin: Origin, folder: Path, progress: Progress) -> Path:
    """Fetch an artifact (Maven itself verifies it), unpack its archive below an empty folder."""
    progress(f"fetching {describe(origin)}")
    run_client(
        [
            "mvn",
            "--batch-mode",
            "--quiet",
            # A wrong checksum is only a warning to Maven unless it is told otherwise.
            "--strict-checksums",
            "-Dstyle.color=never",
            _COPY,
            f"-Dartifact={origin.options['artifact']}:{origin.version}",
            f"-DoutputDirectory={folder}",
        ],
        folder,
        _complaint,
    )
    jars = list(folder.glob("*.jar"))
    if len(jars) != 1:
        raise SourceUnavailable(f"mvn left {len(jars)} jars of {describe(origin)} instead of one")
    progress(f"unpacking {describe(origin)}")
    archive = folder / "archive"
    _take_member(jars[0], origin.options["member"], archive)
    unpacked = folder / "unpacked"
    unpack(archive, unpacked)
    jars[0].unlink()
    archive.unlink()
    return unpacked


def _complaint(stdout: str, stderr: str) -> str | None:
    errors = [line for line in (stdout + stderr).splitlines() if "[ERROR]" in line]
    return one_line(errors[0].partition("[ERROR]")[2].partition("-> [Help")[0]) if errors else None


def _take_member(jar: Path, pattern: str, destination: Path) -> None:
    try:
        with zipfile.ZipFile(jar) as file:
            names = [name for name in file.namelist() if fnmatch.fnmatch(name, pattern)]
            if len(names) != 1:
                raise UnsafeArchive(f"{jar.name} has {len(names)} members like {pattern}, not one")
            with file.open(names[0]) as member, destination.open("wb") as output:
                shutil.copyfileobj(member, output)
    except zipfile.BadZipFile as error:
        raise UnsafeArchive(f"{jar.name} is no jar: {error}") from error
