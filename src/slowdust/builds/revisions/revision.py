"""The sources of a build: where they are, and what identifies their content."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from slowdust.builds.sources.client import SourceUnavailable, run_client
from slowdust.errors import SlowdustError

GIT = "git:"
DIRECTORY = "source:"
"""What a version begins with that is compiled: `git:REF`, `source:DIRECTORY` or an archive."""


@dataclass(frozen=True)
class Revision:
    """Sources of one content."""

    place: str
    """The repository, directory or archive."""
    content: str
    """The hash of git's tree, or the SHA-256 of the files' names and contents."""
    export: Callable[[Path], None]
    """Writes the sources into a new folder."""
    ref: str | None = None
    """The name by which a commit was asked for; with the next two, None without a repository."""
    commit: str | None = None
    subject: str | None = None
    """The first line of the commit's message."""


def is_source(version: str) -> bool:
    """Return whether a version is compiled from source."""
    return version.startswith((GIT, DIRECTORY))


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return its output; raise SlowdustError with git's own message."""
    command = ["git", "-c", "core.quotePath=off", *arguments]
    try:
        return run_client(command, folder, _complaint)
    except SourceUnavailable as error:
        if shutil.which("git") is None:
            raise SlowdustError(
                "builds from a repository need git, which is not installed: install it, for "
                "example by `sudo apt install git`"
            ) from None
        raise SlowdustError(str(error)) from None


def _complaint(stdout: str, stderr: str) -> str | None:
    del stdout
    lines = [line for line in stderr.splitlines() if line.startswith(("fatal:", "error:"))]
    return lines[-1] if lines else None
