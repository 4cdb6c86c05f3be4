"""The ordinary client of a package registry, whose mirrors and proxies are respected."""

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
"""A function of a client's standard output and standard error: its error; None where it has none.
"""


class SourceUnavailable(SlowdustError):  # noqa: N818 - a state of the world, not a fault
    """A source that cannot provide the build now, while another may.

    `remedy` says what the user can do about it, with '{name}' in the place of the build's name.
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
    """Run a client in a folder, with more variables in its environment, and return its output.

    Raises SourceUnavailable with the client's error, or else with the last line of its messages.
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
        raise SourceUnavailable(f"{name} did not end within {FETCH_TIMEOUT_S:.0f} s") from None
    if done.returncode != 0:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        reason = complaint(done.stdout, done.stderr) or one_line("".join(lines[-1:]))
        reason = without_secrets(reason)  # as that of a proxy
        raise SourceUnavailable(f"{name}: {reason or f'exit code {done.returncode}'}")
    return done.stdout


def one_line(text: str) -> str:
    """Return a text without line breaks, short enough for a message."""
    return cut(" ".join(text.split()), _MESSAGE_CHARACTERS)


def first_match(*patterns: str) -> Complaint:
    """Return what finds the first line of the output that matches, by its group.

    A pattern is looked for only where those before it match nothing.
    """

    def find(stdout: str, stderr: str) -> str | None:
        found = (re.search(pattern, stdout + stderr, re.MULTILINE) for pattern in patterns)
        match = next(filter(None, found), None)
        return None if match is None else one_line(match[1])

    return find


def fetch_file(
    command: Sequence[str], folder: Path, pattern: str, complaint: Complaint, described: str
) -> Path:
    """Run a client that leaves one file in a folder, with a name like `pattern`; return the file.

    Raises SourceUnavailable as `run_client`, and for another number of files.
    """
    run_client(command, folder, complaint)
    files = list(folder.glob(pattern))
    if len(files) != 1:
        client = PurePath(command[0]).name
        raise SourceUnavailable(
            f"{client} left {len(files)} files {pattern} of {described} instead of one"
        )
    return files[0]


@contextmanager
def taken_from_zip(archive: Path, place: Path) -> Iterator[tuple[zipfile.ZipFile, Tree]]:
    """Open a zip file, and a tree for parts of it, which is complete in the end."""
    tree = Tree(place)
    try:
        with zipfile.ZipFile(archive) as file:
            yield file, tree
    except zipfile.BadZipFile as error:
        raise UnsafeArchive(f"{archive.name} is not a zip archive: {error}") from error
    tree.finish()
