"""Print the known vulnerabilities of all dependencies, and the dependencies not checked.

    python -m tests.lint.audit

Exits with 1 if there is one. The vulnerability services may not answer, for example on a machine
that reaches only package registries: the audit says so and does not fail.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_LIMIT_S = 120.0
_UPLOT = Path("src/slowdust/report/html/uplot")


@dataclass(frozen=True)
class Audit:
    """The vulnerabilities of the dependencies of one language."""

    language: str
    asked: int
    """Number of packages for which a service answered."""
    not_asked: int
    vulnerable: tuple[str, ...]
    why: str = ""
    """Reason why nothing was asked; empty if something was."""

    def __str__(self) -> str:
        known = ", ".join(self.vulnerable) or "none"
        if self.asked:
            rest = f"; {self.not_asked} could not be audited" if self.not_asked else ""
            return f"{self.language}: {self.asked} packages audited, vulnerable: {known}{rest}"
        return f"{self.language}: NOT AUDITED: {self.why}"


def python_audit(answer: str) -> Audit:
    """Read what `pip-audit --format json` printed."""
    try:
        packages = json.loads(answer)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return Audit("Python", 0, 0, (), "pip-audit has no answer")
    skipped = [package for package in packages if "skip_reason" in package]
    vulnerable = [
        f"{package['name']} {package['version']} ({vulnerability['id']})"
        for package in packages
        for vulnerability in package.get("vulns", [])
    ]
    why = f"the service knows none of {len(packages)} packages"
    return Audit("Python", len(packages) - len(skipped), len(skipped), tuple(vulnerable), why)


def npm_audit(answer: str) -> Audit:
    """Read what `npm audit --json` printed."""
    try:
        told = json.loads(answer)
        asked = int(told["metadata"]["dependencies"]["total"])
    except (ValueError, KeyError, TypeError):
        return Audit("JavaScript", 0, 0, (), "the registry has no service for audits")
    return Audit("JavaScript", asked, 0, tuple(told.get("vulnerabilities", {})))


def rust_audit(answer: str) -> Audit:
    """Read what `cargo audit --json` printed."""
    try:
        told = json.loads(answer)
        asked, found = told["lockfile"]["dependency-count"], told["vulnerabilities"]["list"]
    except (ValueError, KeyError, TypeError):
        return Audit("Rust", 0, 0, (), "cargo-audit is not installed, or has no advisories here")
    vulnerable = [f"{one['package']['name']} ({one['advisory']['id']})" for one in found]
    return Audit("Rust", asked, 0, tuple(vulnerable))


def _output(command: Sequence[str], directory: Path | None = None) -> str:
    """Return what a program prints; nothing where it is not there or does not end."""
    program = shutil.which(command[0]) or str(Path(sys.executable).with_name(command[0]))
    try:
        done = subprocess.run(
            [program, *command[1:]],
            cwd=directory,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def main() -> int:
    """Ask and print."""
    locked = ["-r", "requirements-dev.lock", "--disable-pip", "--require-hashes"]
    audits = [
        python_audit(_output(["pip-audit", *locked, "--format", "json"])),
        npm_audit(_output(["npm", "audit", "--json", "--package-lock-only"], _UPLOT)),
        rust_audit(_output(["cargo", "audit", "--json"])),
    ]
    for audit in audits:
        print(audit)
    return int(any(audit.vulnerable for audit in audits))


if __name__ == "__main__":
    sys.exit(main())
