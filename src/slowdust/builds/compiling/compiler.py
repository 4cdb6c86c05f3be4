"""The compilers of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess

from slowdust.builds.compiling.missing import check_programs
from slowdust.builds.compiling.recipe import Compiler
from slowdust.errors import SlowdustError

_C, _CXX = "gcc", "g++"
_PACKAGES = {_C: "gcc libc6-dev", _CXX: "g++", "clang": "clang", "clang++": "clang"}


def find_compiler() -> Compiler:
    """Return the compilers that the variables CC and CXX name, else gcc and g++.

    Raises SlowdustError when one is not installed, or does not run.
    """
    c, cxx = _program("CC", _C), _program("CXX", _CXX)
    check_programs({program: _PACKAGES.get(program, program) for program in (c, cxx)})
    versions = dict.fromkeys((_version(c), _version(cxx)))
    return Compiler(
        c=_path(c),
        cxx=_path(cxx),
        version=" and ".join(versions),
        launcher=shutil.which("ccache"),
    )


def _program(variable: str, default: str) -> str:
    program = os.environ.get(variable) or default
    if len(program.split()) > 1:
        raise SlowdustError(
            f"{variable}={program}: name one program; options of compilers are sets of --flags"
        )
    return program


def _path(program: str) -> str:
    path = shutil.which(program)
    assert path is not None
    return path


def _version(program: str) -> str:
    done = subprocess.run(
        [program, "--version"], capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    if done.returncode != 0 or not done.stdout.strip():
        raise SlowdustError(f"the compiler {program} does not print its version: set CC to another")
    return done.stdout.splitlines()[0].strip()
