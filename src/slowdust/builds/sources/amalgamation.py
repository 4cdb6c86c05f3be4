"""Builds of SQLite, compiled here from its amalgamation: one file of C that a Rust crate carries.

Cargo fetches the crate and verifies it by the checksum of the registry's index.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec

from slowdust.builds.catalog import Origin
from slowdust.builds.model import Progress, Unpacked
from slowdust.builds.sources.client import SourceUnavailable, one_line, run_client
from slowdust.unpacking import inside

_PACKAGE = """[package]
name = "amalgamation"
version = "0.0.0"
edition = "2021"

[lib]
path = "lib.rs"

[dependencies]
{crate} = {{ version = "={version}", default-features = false }}
"""
_LIBRARY = "lib/libsqlite3.so"


class Options(msgspec.Struct, forbid_unknown_fields=True):
    """The crate, and how its file is compiled."""

    crate: str
    file: str
    """The amalgamation, below the crate's folder."""
    flags: list[str]
    """Options of the C compiler."""


def describe(origin: Origin) -> str:
    """Describe an origin: 'crate libsqlite3-sys@0.35.0'."""
    return f"crate {origin.options_as(Options).crate}@{origin.version}"


def provide(origin: Origin, folder: Path, progress: Progress) -> Unpacked:
    """Fetch a crate, and compile its amalgamation as a library below an empty folder."""
    options = origin.options_as(Options)
    progress(f"fetching {describe(origin)}")
    source = _fetched(options, origin.version, folder)
    compiler = os.environ.get("CC", "cc")
    version = run_client([compiler, "--version"], folder, _complaint).partition("\n")[0]
    progress(f"compiling {describe(origin)} with {compiler} {' '.join(options.flags)}")
    binaries = folder / "binaries"
    library = binaries / _LIBRARY
    library.parent.mkdir(parents=True)
    shared = ["-shared", "-fPIC", "-w", "-o", str(library), source.name]
    run_client(
        [compiler, *options.flags, *shared, "-lpthread", "-ldl", "-lm"], source.parent, _complaint
    )
    library.chmod(0o755)
    flags = " ".join(options.flags)
    return Unpacked(binaries, f"{describe(origin)}, {version} {flags}")


def _fetched(options: Options, version: str, folder: Path) -> Path:
    """Let cargo put the crate into a folder; return the path of the amalgamation."""
    package = folder / "package"
    package.mkdir()
    text = _PACKAGE.format(crate=options.crate, version=version)
    (package / "Cargo.toml").write_text(text, encoding="utf-8")
    (package / "lib.rs").touch()
    run_client(["cargo", "vendor", "--quiet", "--versioned-dirs", "crates"], package, _complaint)
    crate = package / "crates" / f"{options.crate}-{version}"
    source = inside(crate, options.file)
    if not source.is_file():
        raise SourceUnavailable(f"{options.crate} {version} has no {options.file}")
    return source


def _complaint(stdout: str, stderr: str) -> str | None:
    errors = re.findall(
        r"^error\S*:? .*$|^.*: (?:fatal )?error: .*$", stderr + stdout, re.MULTILINE
    )
    causes = re.findall(r"^  (\S.*)$", stderr, re.MULTILINE)
    return one_line(": ".join([*errors[:1], *causes[-1:]])) if errors else None
