"""Builds of SQLite, compiled here from its amalgamation: one C file, contained in a Rust crate.

Cargo fetches the crate and verifies its checksum.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import msgspec

from slowdust.builds.catalog import Origin, find_catalog, known_dbms
from slowdust.builds.fingerprint import hash_file
from slowdust.builds.model import Progress, Unpacked
from slowdust.builds.recipe import DEFAULT_FLAGS, FLAG_SETS, FlagSet, check_programs
from slowdust.builds.sources.client import SourceUnavailable, one_line, run_client
from slowdust.errors import UsageError
from slowdust.store.manifest import Compiled
from slowdust.unpacking import inside

KIND = "amalgamation"
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
_ASSERTIONS = "-DSQLITE_DEBUG"


class Options(msgspec.Struct, forbid_unknown_fields=True):
    """The crate, and how to compile its file."""

    crate: str
    file: str
    flags: list[str]
    flag_set: str | None = None
    """The name of the flag set that was applied to `flags`, if any."""


def is_compiled(dbms: str) -> bool:
    entries = find_catalog(dbms).entries if dbms in known_dbms() else ()
    return any(origin.kind == KIND for entry in entries for origin in entry.origins)


def check_flags(flags: FlagSet) -> None:
    """Raise UsageError for a flag set that needs several files."""
    if flags.across_files:
        others = ", ".join(name for name, other in FLAG_SETS.items() if not other.across_files)
        raise UsageError(
            f"+{flags.name} has no effect on an amalgamation, which is one file: choose {others}"
        )


def with_flags(origin: Origin, flags: FlagSet) -> Origin:
    """Return an origin that is compiled with a flag set instead of its own optimization level.

    Raises UsageError for the default set if the catalog has another level.
    """
    options = origin.options_as(Options)
    kept = [option for option in options.flags if not option.startswith("-O")]
    added = [_ASSERTIONS] if flags.assertions else []
    varied = [*flags.options, *kept, *added]
    if flags.name != DEFAULT_FLAGS:
        changes = {"flags": varied, "flag_set": flags.name}
        return replace(origin, options={**origin.options, **changes})
    if set(varied) != set(options.flags):
        raise UsageError(
            f"the catalog compiles {describe(origin)} with {' '.join(options.flags)}, not with "
            f"{flags.name}: remove +{flags.name}"
        )
    return origin


def describe(origin: Origin) -> str:
    return f"crate {origin.options_as(Options).crate}@{origin.version}"


def provide(origin: Origin, folder: Path, progress: Progress) -> Unpacked:
    """Fetch a crate, and compile its amalgamation as a library in an empty folder."""
    options = origin.options_as(Options)
    compiler = os.environ.get("CC", "cc")
    check_programs({compiler: "gcc libc6-dev"})
    version = run_client([compiler, "--version"], Path("/"), _complaint).partition("\n")[0]
    source = _fetched(origin, folder, progress)
    progress(f"compiling {describe(origin)} with {compiler} {' '.join(options.flags)}")
    binaries = folder / "binaries"
    library = binaries / _LIBRARY
    library.parent.mkdir(parents=True)
    shared = ["-shared", "-fPIC", "-w", "-o", str(library), source.name]
    run_client(
        [compiler, *options.flags, *shared, "-lpthread", "-ldl", "-lm"], source.parent, _complaint
    )
    library.chmod(0o755)
    made = Unpacked(binaries, f"{describe(origin)}, {version} {' '.join(options.flags)}")
    if options.flag_set is None:
        return made
    facts = Compiled(
        place=describe(origin),
        content=hash_file(source),
        flags=options.flag_set,
        options=options.flags,
        compiler=version,
    )
    return replace(made, compiled=facts)


def _fetched(origin: Origin, folder: Path, progress: Progress) -> Path:
    progress(f"fetching {describe(origin)}")
    options, version = origin.options_as(Options), origin.version
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
