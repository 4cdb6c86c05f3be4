"""Named sets of compiler flags."""

from __future__ import annotations

from dataclasses import dataclass

from slowdust.errors import UsageError
from slowdust.store.manifest import BuildFacts


@dataclass(frozen=True)
class FlagSet:
    """Options of the C and C++ compilers, and what they are for."""

    name: str
    options: tuple[str, ...]
    purpose: str
    assertions: bool = False
    """Whether the server's own assertions are compiled in."""
    archiver: str = "ar"
    """The program that makes static libraries of the compiler's objects."""
    across_files: bool = False
    """Whether it is for programs of several files."""


FLAG_SETS = {
    flags.name: flags
    for flags in (
        FlagSet("o2", ("-O2",), "what distributions use"),
        FlagSet(
            "o2nofp",
            ("-O2", "-fno-omit-frame-pointer"),
            "-O2 that keeps frame pointers, for cheap call stacks",
        ),
        FlagSet("o3", ("-O3",), "more inlining, and loops with vector instructions"),
        FlagSet(
            "lto",
            ("-O2", "-flto=auto"),
            "-O2 across files, when linking",
            archiver="gcc-ar",
            across_files=True,
        ),
        FlagSet(
            "debug",
            ("-Og", "-g", "-fno-omit-frame-pointer"),
            "symbols, frame pointers and the server's assertions",
            assertions=True,
        ),
    )
}
DEFAULT_FLAGS = "o2"


def flag_set(name: str) -> FlagSet:
    if name not in FLAG_SETS:
        raise UsageError(f"unknown flags {name!r}: choose {', '.join(FLAG_SETS)}")
    return FLAG_SETS[name]


def with_flags(version: str, facts: BuildFacts) -> str:
    """Return a version with the flags that it was compiled with, unless they are the default."""
    flags = facts.compiled.flags if facts.compiled else DEFAULT_FLAGS
    return version if flags == DEFAULT_FLAGS else f"{version}+{flags}"
