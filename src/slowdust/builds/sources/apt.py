"""Debian's apt with private directories: it reads the machine's settings and changes none.

apt itself verifies every download by the signatures of Debian's archive, with the machine's
`debian-archive-keyring`. Proxies and credentials are those of the machine's apt.
"""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

from slowdust.builds.sources.client import SourceUnavailable, one_line, run_client

MIRROR_VARIABLE = "SLOWDUST_DEBIAN_MIRROR"
KEYRINGS = tuple(
    Path("/usr/share/keyrings/debian-archive-keyring").with_suffix(suffix)
    for suffix in (".gpg", ".pgp")
)
ARCHITECTURE = "amd64"

_SOURCE = """\
Types: deb
URIs: {mirror}
Suites: {suite}
Components: {component}
Architectures: {architecture}
Targets: Packages
Signed-By: {keyring}
"""

_SETTINGS = """\
Dir::State "{folder}/state";
Dir::State::lists "{folder}/state/lists";
Dir::State::extended_states "{folder}/state/extended_states";
Dir::State::status "{folder}/status";
Dir::Cache "{folder}/cache";
Dir::Cache::archives "{folder}/cache/archives";
Dir::Cache::pkgcache "{folder}/cache/pkgcache.bin";
Dir::Cache::srcpkgcache "{folder}/cache/srcpkgcache.bin";
Dir::Log "{folder}/log";
Dir::Etc::sourcelist "{folder}/debian.sources";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::Etc::trusted "/dev/null";
Dir::Etc::trustedparts "/dev/null";
APT::Architecture "{architecture}";
APT::Default-Release "";
APT::Install-Recommends "false";
APT::Install-Suggests "false";
APT::Get::AllowUnauthenticated "false";
APT::Update::Error-Mode "any";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::Languages "none";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Invoke;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
"""
"""Settings that replace the machine's own, which may name any file by an absolute path. Hooks are
cleared, since they act on the machine."""


class PrivateApt:
    """An apt for one suite of Debian, with nothing installed and all its state in one folder."""

    def __init__(self, folder: Path, suite: str, component: str) -> None:
        self._folder = folder
        self._suite = suite
        for name in ("state/lists/partial", "cache/archives/partial", "log"):
            (folder / name).mkdir(parents=True)
        places = {"folder": folder, "architecture": ARCHITECTURE}
        source = _SOURCE.format(
            mirror=_mirror(folder),
            suite=suite,
            component=component,
            keyring=_keyring(),
            **places,
        )
        (folder / "status").touch()
        (folder / "debian.sources").write_text(source, encoding="utf-8")
        (folder / "apt.conf").write_text(_SETTINGS.format(**places), encoding="utf-8")
        # When root runs apt, it downloads as an unprivileged user of its own.
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)

    def update(self) -> None:
        """Fetch and verify the suite's list of packages."""
        self._run("apt-get", "update")

    def candidate(self, package: str) -> str:
        """Return a package's version in the suite; raise SourceUnavailable when it has none."""
        policy = self._run("apt-cache", "policy", package)
        candidate = re.search(r"^  Candidate: (\S+)$", policy, re.MULTILINE)
        if not candidate or candidate.group(1) == "(none)":
            raise SourceUnavailable(f"Debian's suite {self._suite} has no package {package}")
        return candidate.group(1)

    def download(self, packages: list[str]) -> list[Path]:
        """Fetch and verify packages with all dependencies; return the .deb files, sorted."""
        self._run("apt-get", "--yes", "--download-only", "install", *packages)
        return sorted((self._folder / "cache/archives").glob("*.deb"))

    def _run(self, program: str, *arguments: str) -> str:
        settings = ["--config-file", str(self._folder / "apt.conf")]
        return run_client([program, *settings, *arguments], self._folder, _complaint)


def _complaint(stdout: str, stderr: str) -> str | None:
    lines = [line for line in (stdout + stderr).splitlines() if line.startswith(("E:", "W:"))]
    errors = [line for line in lines if "GPG error" in line] or [
        line for line in lines if line.startswith("E:")
    ]
    return one_line(errors[0][2:]) if errors else None


def _keyring() -> Path:
    for path in KEYRINGS:
        if path.is_file():
            return path
    raise SourceUnavailable(
        f"there is no {KEYRINGS[0]}, which verifies Debian's packages: install the package "
        "debian-archive-keyring"
    )


def _mirror(folder: Path) -> str:
    """Return a mirror of Debian's archive, from the variable or from the machine's own apt."""
    chosen = os.environ.get(MIRROR_VARIABLE)
    mirrors = [chosen] if chosen else _listed_mirrors(folder) or _configured_mirrors(folder)
    if not mirrors:
        raise SourceUnavailable(
            f"this machine's apt has no mirror of Debian: set {MIRROR_VARIABLE} to one, as a URI "
            "of sources.list"
        )
    return mirrors[0]


def _listed_mirrors(folder: Path) -> list[str]:
    """Return the mirrors of Debian whose package lists are on this machine."""
    form = "$(ORIGIN)|$(LABEL)|$(REPO_URI)"
    targets = run_client(["apt-get", "indextargets", "--format", form], folder, _complaint)
    rows = [line.split("|", 2) for line in targets.splitlines() if line.count("|") >= 2]
    return [uri for origin, label, uri in rows if (origin, label) == ("Debian", "Debian")]


def _configured_mirrors(folder: Path) -> list[str]:
    """Return the mirrors from which a Debian machine would fetch the lists of its own release."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return []
    if release.get("ID") != "debian" or "VERSION_CODENAME" not in release:
        return []
    uris = run_client(["apt-get", "update", "--print-uris"], folder, _complaint)
    suite = re.escape(release["VERSION_CODENAME"])
    return re.findall(rf"^'(\S+/)dists/{suite}/InRelease'", uris, re.MULTILINE)
