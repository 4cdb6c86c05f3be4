"""The programs that setup and tests need, and the commands that install them.

`python3 -m tests.tiers.programs` prints the missing ones; `--install` (`make tools`) installs them.
Only the standard library is imported: this runs before there is an environment.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PACKAGES = {
    "cc": "build-essential",
    "make": "make",
    "cmake": "cmake",
    "npm": "npm",
    "mvn": "maven",
    "go": "golang-go",
    "strip": "binutils",
    "git": "git",
    "perl": "perl",
    "valgrind": "valgrind",
    "perf": "linux-perf",
    "sysbench": "sysbench",
    "pkg-config": "pkg-config",
    "openssl": "openssl",
    "taskset": "util-linux",
    "chromium": "chromium",
    "chromedriver": "chromium-driver",
    "firefox-esr": "firefox-esr",
}
"""Debian's package of each program that tests run."""
CRATES = {"geckodriver": "geckodriver@0.37.1"}
"""Debian has Firefox without its driver, which Mozilla publishes as a crate."""
TOOLCHAIN = "cargo"
"""Has to be there already: Debian's own Rust is too old."""
COMMAND = "make tools"


def find(program: str) -> str | None:
    """Return the path of a program, also where cargo installs it."""
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "bin"
    return shutil.which(program, path=f"{os.environ.get('PATH', os.defpath)}{os.pathsep}{cargo}")


def is_known(program: str) -> bool:
    """Return whether a program is in one of the tables."""
    return program in PACKAGES or program in CRATES or program == TOOLCHAIN


def missing(*programs: str) -> list[str]:
    """Return the programs that are not installed.

    Raises:
        KeyError: no table has the program, so nothing could install it.
    """
    for program in programs:
        if not is_known(program):
            raise KeyError(program)
    return [program for program in programs if find(program) is None]


def _missing_packages() -> list[str]:
    packages = [PACKAGES[program] for program in missing(*PACKAGES)]
    if subprocess.run(
        ["python3", "-c", "import venv, ensurepip"], check=False, capture_output=True
    ).returncode:
        packages.append("python3-venv")
    return packages


def _install(packages: Sequence[str], crates: Sequence[str]) -> None:
    as_root = [] if os.geteuid() == 0 else ["sudo"]
    if packages:
        apt = [*as_root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
        subprocess.run([*apt, "update", "-qq"], check=True)
        quiet = ["install", "-y", "-qq", "--no-install-recommends"]
        subprocess.run([*apt, *quiet, *packages], check=True)
    for crate in crates:
        subprocess.run(["cargo", "install", "--quiet", "--debug", "--locked", crate], check=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print or install what is missing; 1 if something is."""
    parser = argparse.ArgumentParser(prog="tests.tiers.programs", description=__doc__)
    parser.add_argument("--install", action="store_true", help="with apt-get and cargo")
    options = parser.parse_args(arguments)
    if find(TOOLCHAIN) is None:
        print("cargo is missing: install a stable Rust toolchain with clippy and rustfmt")
        return 1
    packages = _missing_packages()
    crates = [CRATES[program] for program in missing(*CRATES)]
    if options.install:
        _install(packages, crates)
        return 0
    print(*packages, *crates, sep="\n", end="\n" if packages or crates else "")
    return 1 if packages or crates else 0


if __name__ == "__main__":
    sys.exit(main())
