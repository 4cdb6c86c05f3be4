"""What builds a server: the programs that are needed, and the commands in their order."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowdust.builds.compiling.flags import FlagSet


@dataclass(frozen=True)
class Compiler:
    """The C and C++ compilers of this machine."""

    c: str
    """The path of the program."""
    cxx: str
    version: str
    """The first line that it prints about itself: 'gcc (Debian 12.2.0-14+deb12u1) 12.2.0'."""
    launcher: str | None = None
    """The path of ccache, where it is installed."""


@dataclass(frozen=True)
class Workshop:
    """The directories of one build, and what compiles there."""

    source: Path
    """The sources, which the build does not change."""
    build: Path
    """The directory of objects."""
    install: Path
    """The root of the file system that the build is installed into."""
    flags: FlagSet
    compiler: Compiler

    @property
    def jobs(self) -> str:
        """The option for as many compilers at a time as there are CPUs for this process."""
        return f"-j{len(os.sched_getaffinity(0))}"


@dataclass(frozen=True)
class Step:
    """A command, and the word for what it does."""

    phase: str
    """'configuring', 'compiling', 'installing'."""
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    preview: Sequence[str] | None = None
    """The command that prints the compilers' command lines without running them."""


@dataclass(frozen=True)
class Recipe:
    """The commands that make a server of its sources; they run in the directory of objects."""

    needs: Mapping[str, str]
    """Program -> package of Debian that brings it."""
    configure: Step
    """Runs once for a directory of objects."""
    steps: Sequence[Step]
    """Run for every revision, and compile again what has changed."""
    installed: str
    """The build's directory, relative to `Workshop.install`."""
