"""The compilers of this machine, and packages that it lacks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from slowdust.builds.compiling.recipe import Compiler
from slowdust.errors import HostError, SlowdustError

_LOOKED_AT = 200
"""Lines at the end of a log, among which the reason of a failure is."""
_REMEDIES = (
    (r"C compiler cannot create executables|stdio\.h: No such file", "gcc libc6-dev"),
    (r"No CMAKE_CXX_COMPILER could be found|CMAKE_CXX_COMPILER-NOTFOUND", "g++"),
    (r"[Cc]urses (?:library )?not found|Could NOT find Curses|curses\.h", "libncurses-dev"),
    (r"Cannot find (?:appropriate )?system libraries for SSL|Could NOT find OpenSSL", "libssl-dev"),
    (r"Could NOT find GnuTLS|gnutls/gnutls\.h", "libgnutls28-dev"),
    (r"Could NOT find BISON|\bbison\b.*(?:missing|not found|required)", "bison"),
    (r"\bflex\b.*(?:missing|not found|required)", "flex"),
    (r"rpc/rpc\.h|Could not find rpc|libtirpc", "libtirpc-dev"),
    (r"rpcgen", "rpcsvc-proto"),
    (r"libaio\.h|Could NOT find.*[Aa]io|aio library", "libaio-dev"),
    (r"ICU library not found", "libicu-dev"),
    (r"readline library not found", "libreadline-dev"),
    (r"zlib library not found|Could NOT find ZLIB", "zlib1g-dev"),
    (r"[Pp]kg-config not found|Could NOT find PkgConfig", "pkg-config"),
    (r"lto-wrapper|plugin needed to handle lto", "gcc binutils"),
)
"""Pattern of a line of a log -> packages of Debian."""


def check_programs(needs: Mapping[str, str]) -> None:
    """Raise HostError when a program is not installed; `needs` is program -> package."""
    absent = [program for program in needs if shutil.which(program) is None]
    if absent:
        packages = " ".join(dict.fromkeys(needs[program] for program in absent))
        raise HostError(
            f"building from source needs {', '.join(absent)}, not installed here: install it, "
            f"for example by `sudo apt install {packages}`"
        )


def remedy(log: Sequence[str]) -> str | None:
    """Return what to install according to the last lines of a log; None where that is not known."""
    text = "\n".join(log[-_LOOKED_AT:])
    for pattern, packages in _REMEDIES:
        if re.search(pattern, text):
            return f"this may bring what it needs: `sudo apt install {packages}`"
    return None


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
