"""Runs the ordinary clients of package registries, with their mirrors and proxies."""

from __future__ import annotations

import os
import re
import subprocess
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath

from slowdust.accounts import ends_with_this_process
from slowdust.addresses import without_secrets
from slowdust.errors import SlowdustError
from slowdust.unpacking import Tree, UnsafeArchive
from slowdust.wording import cut

FETCH_TIMEOUT_S = 1800.0
_MESSAGE_CHARACTERS = 300
Complaint = Callable[[str, str], str | None]
"""A function: a client's standard output and standard error -> its error, if any."""


class SourceUnavailable(SlowdustError):  # noqa: N818 - a condition, not an error
    """A source that cannot provide the build now; another one may.

    `remedy` is advice for users, with '{name}' for the build's name.
    """

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.remedy = remedy


def run_client(
    command: Sequence[str],
    folder: Path,
    complaint: Complaint,
    variables: Mapping[str, str] | None = None,
) -> str:
    """Run a client in a folder, with additional environment variables, and return its output.

    Raises SourceUnavailable with the client's error, or with the last line of its output.
    """
    name = PurePath(command[0]).name
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **(variables or {})},
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=FETCH_TIMEOUT_S,
            check=False,
            preexec_fn=ends_with_this_process(),
        )
    except FileNotFoundError:
        raise SourceUnavailable(f"{name} is not installed") from None
    except subprocess.TimeoutExpired:
        raise SourceUnavailable(f"{name} did not finish within {FETCH_TIMEOUT_S:.0f} s") from None
    if done.returncode != 0:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        reason = complaint(done.stdout, done.stderr) or one_line("".join(lines[-1:]))
        reason = without_secrets(reason)  # such as a proxy's password
        raise SourceUnavailable(f"{name}: {reason or f'exit code {done.returncode}'}")
    return done.stdout


def one_line(text: str) -> str:
    """Return a text without line breaks, cut to the length of a message."""
    return cut(" ".join(text.split()), _MESSAGE_CHARACTERS)


def first_match(*patterns: str) -> Complaint:
    """Return a function that finds the first matching pattern and returns its group.

    A pattern is tried only if no earlier one matches.
    """

    def find(stdout: str, stderr: str) -> str | None:
        found = (re.search(pattern, stdout + stderr, re.MULTILINE) for pattern in patterns)
        match = next(filter(None, found), None)
        return None if match is None else one_line(match[1])

    return find


def fetch_file(
    command: Sequence[str], folder: Path, pattern: str, complaint: Complaint, described: str
) -> Path:
    """Run a client that writes one file like `pattern` into a folder; return the file.

    Raises SourceUnavailable like `run_client`, and for another number of files.
    """
    run_client(command, folder, complaint)
    files = list(folder.glob(pattern))
    if len(files) != 1:
        client = PurePath(command[0]).name
        raise SourceUnavailable(
            f"{client} wrote {len(files)} files {pattern} for {described} instead of one"
        )
    return files[0]


@contextmanager
def taken_from_zip(archive: Path, place: Path) -> Iterator[tuple[zipfile.ZipFile, Tree]]:
    """Open a zip file and a tree for parts of it; finish the tree at the end."""
    tree = Tree(place)
    try:
        with zipfile.ZipFile(archive) as file:
            yield file, tree
    except zipfile.BadZipFile as error:
        raise UnsafeArchive(f"{archive.name} is not a zip archive: {error}") from error
    tree.finish()
