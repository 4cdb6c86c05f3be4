"""Builds that are Debian packages, unpacked into a private root directory by a private apt.

apt resolves the packages with all their dependencies, including the C library, and verifies the
signatures of Debian's archive with the machine's `debian-archive-keyring`. It reads the machine's
settings and does not change them. The packages are unpacked, not installed: none of their scripts
runs. Their programs are started with the dynamic loader and the libraries of that root, not with
this machine's. The root has Debian's merged /usr: /lib is a link to /usr/lib, even if a package has
its files in /lib. `packages.txt` in the root lists every package with version and hash.
"""

from __future__ import annotations

import copy
import hashlib
import os
import platform
import re
import tarfile
from pathlib import Path, PurePosixPath

import msgspec

from slowdust.accounts import server_account
from slowdust.builds.catalog import Origin
from slowdust.builds.model import Progress, Runtime, Unpacked
from slowdust.builds.sources.client import SourceUnavailable, first_match, run_client
from slowdust.unpacking import Tree, relative_to_root

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
"""Settings that replace the machine's own, which may contain absolute paths. Hooks are cleared,
because they modify the machine."""

_complaint = first_match(r"^[EW]:(.*GPG error.*)", r"^E:(.*)")


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
        self._run("apt-get", "update")

    def candidate(self, package: str) -> str:
        """Return a package's version in the suite. Raises SourceUnavailable."""
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


def _keyring() -> Path:
    for path in KEYRINGS:
        if path.is_file():
            return path
    raise SourceUnavailable(
        f"{KEYRINGS[0]} is missing, which is needed to verify Debian's packages: install "
        "debian-archive-keyring"
    )


def _mirror(folder: Path) -> str:
    """Return a mirror of Debian's archive, from the variable or the machine's apt."""
    chosen = os.environ.get(MIRROR_VARIABLE)
    mirrors = [chosen] if chosen else _listed_mirrors(folder) or _configured_mirrors(folder)
    if not mirrors:
        raise SourceUnavailable(
            f"this machine's apt has no mirror of Debian: set {MIRROR_VARIABLE} to one, as a URI "
            "of sources.list"
        )
    return mirrors[0]


def _listed_mirrors(folder: Path) -> list[str]:
    form = "$(ORIGIN)|$(LABEL)|$(REPO_URI)"
    targets = run_client(["apt-get", "indextargets", "--format", form], folder, _complaint)
    rows = [line.split("|", 2) for line in targets.splitlines() if line.count("|") >= 2]
    return [uri for origin, label, uri in rows if (origin, label) == ("Debian", "Debian")]


def _configured_mirrors(folder: Path) -> list[str]:
    """Return the mirrors of a Debian machine's own release."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return []
    if release.get("ID") != "debian" or "VERSION_CODENAME" not in release:
        return []
    uris = run_client(["apt-get", "update", "--print-uris"], folder, _complaint)
    suite = re.escape(release["VERSION_CODENAME"])
    return re.findall(rf"^'(\S+/)dists/{suite}/InRelease'", uris, re.MULTILINE)


LISTING = "packages.txt"
_LIBRARIES = "usr/lib/x86_64-linux-gnu"
_LOADER = "ld-linux-x86-64.so.2"
_MERGED = ("bin", "lib", "lib64", "sbin")
"""Folders of the root that are links to the same folders in usr."""


class Options(msgspec.Struct, forbid_unknown_fields=True):
    """The packages, and their suite."""

    suite: str
    packages: list[str]
    """The names of the packages; the version in the catalog is the first package's."""
    component: str = "main"


def describe(origin: Origin) -> str:
    return _described(origin.options_as(Options), origin.version)


def provide(origin: Origin, folder: Path, progress: Progress) -> Unpacked:
    options = origin.options_as(Options)
    apt = PrivateApt(folder / "apt", options.suite, options.component)
    progress(f"fetching the list of packages of Debian's suite {options.suite}")
    apt.update()
    version = apt.candidate(options.packages[0])
    if origin.version not in {version, upstream(version)}:
        raise SourceUnavailable(f"Debian's suite {options.suite} has {version} now")
    progress(f"fetching {_described(options, version)} and its dependencies")
    packages = apt.download(options.packages)
    progress(f"unpacking {len(packages)} packages")
    root = folder / "root"
    tree = Tree(root, in_merged_usr)
    account = server_account()
    for package in packages:
        try:
            with package.open("rb") as content:
                tree.add_output(["dpkg-deb", "--fsys-tarfile", "-"], account, package.name, content)
        except FileNotFoundError:
            raise SourceUnavailable("dpkg-deb is not installed") from None
    for name in _MERGED:
        (root / name).symlink_to(f"usr/{name}")
    tree.finish()
    (root / LISTING).write_text(_listing(packages, folder), encoding="utf-8")
    return Unpacked(root, _described(options, version), _runtime(root))


def in_merged_usr(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Move a package's files into the merged /usr; skip its own links for that."""
    name = str(PurePosixPath(member.name))
    if member.issym() and name in _MERGED and member.linkname == f"usr/{name}":
        return None
    merged = copy.copy(member)
    merged.name = _merged(member.name)
    if member.islnk():
        merged.linkname = _merged(member.linkname)
    return relative_to_root(merged)


def _merged(name: str) -> str:
    path = PurePosixPath(name)
    return str("usr" / path if path.parts[:1] in {(top,) for top in _MERGED} else path)


def _runtime(root: Path) -> Runtime:
    libraries = root / _LIBRARIES
    if not libraries.is_dir():
        return Runtime()
    loader = libraries / _LOADER
    return Runtime(loader if loader.is_file() else None, (libraries,))


def _described(options: Options, version: str) -> str:
    return f"debian {options.suite} {options.packages[0]} {version}"


def upstream(packaged: str) -> str:
    """Return '11.8.9' for '1:11.8.9+ds-4', without the epoch and Debian's suffix."""
    return re.sub(r"[^\d.].*", "", packaged.partition(":")[2] or packaged)


def _listing(packages: list[Path], folder: Path) -> str:
    lines = []
    for package in packages:
        form = "--showformat=${Package} ${Version} ${Architecture}"
        identity = run_client(
            ["dpkg-deb", "--show", form, str(package)], folder, lambda _out, _err: None
        )
        with package.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        lines.append(f"{identity.strip()} sha256:{digest}\n")
    return "".join(lines)
