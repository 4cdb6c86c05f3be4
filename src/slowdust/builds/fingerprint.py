"""The identity of a set of binaries: the server's hash, its sizes, and the version it prints."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

from slowdust.accounts import server_account
from slowdust.builds.catalog import ServerBinary
from slowdust.builds.model import Runtime, Unpacked
from slowdust.errors import SlowdustError
from slowdust.formats.elf import read_sizes
from slowdust.store.manifest import BuildFacts

_PROGRAM_BEGINNINGS = (b"\x7fELF", b"#!")


def fingerprint(server: Path, kind: ServerBinary, unpacked: Unpacked) -> BuildFacts:
    """Return the facts of a server's binary; raise SlowdustError when it does not run here."""
    return BuildFacts(
        source=unpacked.source,
        version=printed_version(server, kind, unpacked.runtime),
        sha256=sha256_of(server),
        binary_bytes=server.stat().st_size,
        stripped_bytes=_stripped_bytes(server),
        compiled=unpacked.compiled,
    )


def printed_version(server: Path, kind: ServerBinary, runtime: Runtime) -> str:
    """Return the version that a server prints when the account of the servers runs it."""
    account = server_account()
    try:
        done = account.run([*runtime.command(server), *kind.version_arguments])
    except PermissionError:
        raise SlowdustError(
            f"the user {account.name}, who runs the servers, cannot execute {server}: "
            "give that user access, or move the directory"
        ) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SlowdustError(f"{server} does not run on this machine: {error}") from error
    version = kind.version_pattern.search(done.stdout)
    if done.returncode != 0 or not version:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise SlowdustError(
            f"{server} does not print its version, but {lines[-1] if lines else 'nothing'}"
        )
    return version.group(1)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def programs_in(folder: Path) -> list[Path]:
    """Return the files below a folder that are executed or loaded: programs, scripts, libraries."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return [path for path in files if _is_program(path)]


def _is_program(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4).startswith(_PROGRAM_BEGINNINGS)


def _stripped_bytes(binary: Path) -> int | None:
    """Return the size of a binary without symbols; None for one that is no 64-bit ELF file."""
    try:
        return read_sizes(binary).stripped_bytes
    except ValueError:
        return None
