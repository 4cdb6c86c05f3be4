"""Builds of SQLite, by a cargo and a compiler that make files of ours."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from slowdust.builds import from_directory, resolve
from slowdust.errors import SlowdustError

if TYPE_CHECKING:
    Registry = Any  # of conftest.py, which cannot be imported

CARGO = """#!/bin/sh
echo "cargo $*" >> {home}/calls
[ -e {home}/cargo-fails ] && {{ /bin/cat {home}/cargo-fails >&2; exit 101; }}
crate=$(/bin/sed -n 's/^\\(libsqlite3-sys\\) = .*"=\\([0-9.]*\\)".*/crates\\/\\1-\\2/p' Cargo.toml)
/bin/mkdir -p "$crate/{folder}"
echo 'int x;' > "$crate/{folder}/sqlite3.c"
"""
CC = """#!/bin/sh
echo "cc $*" >> {home}/calls
[ "$1" = --version ] && {{ echo 'cc 12.2'; echo more; exit; }}
[ -e {home}/cc-fails ] && {{ echo 'sqlite3.c:7: error: expected a semicolon' >&2; exit 1; }}
while [ "$1" != -o ]; do shift; done
/bin/cp sqlite3.c "$2"
"""
DRIVER = """#!/bin/sh
[ "$1$3" = --library--version ] && echo 'SQLite 3.50.2'
"""


@pytest.fixture
def sources(registry: Registry, open_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """Cargo and cc, and a driver that knows one version."""
    write(registry, "cargo", CARGO.format(home=registry.home, folder="sqlite3"))
    write(registry, "cc", CC.format(home=registry.home))
    write(registry, "slowdust-driver", DRIVER)
    monkeypatch.setenv("SLOWDUST_DRIVER", str(registry.bin / "slowdust-driver"))
    monkeypatch.delenv("CC", raising=False)
    return registry


def write(registry: Registry, name: str, text: str) -> None:
    program = registry.bin / name
    program.write_text(text)
    program.chmod(0o755)


def test_an_amalgamation_is_fetched_and_compiled_once(sources: Registry) -> None:
    shown: list[str] = []
    build = resolve("sqlite", "3.50.2", shown.append)
    flags = "-O2 -DSQLITE_ENABLE_DBSTAT_VTAB -DSQLITE_MAX_VARIABLE_NUMBER=32766"
    assert (build.version, build.facts.version) == ("3.50.2", "3.50.2")
    assert build.source == f"crate libsqlite3-sys@0.35.0, cc 12.2 {flags}"
    assert build.server.relative_to(build.root) == Path("lib/libsqlite3.so")
    assert build.command(build.server) == [
        str(sources.bin / "slowdust-driver"), "--library", str(build.server),
    ]  # fmt: skip
    assert [line.split()[0] for line in shown] == ["fetching", "compiling"]
    calls = sources.calls()
    assert any("-shared -fPIC" in call and flags in call for call in calls)

    assert resolve("sqlite", "3.50", print) == build
    assert sources.calls() == calls, "it is in the cache"


def test_a_directory_with_a_library_is_a_build(sources: Registry, open_dir: Path) -> None:
    library = open_dir / "mine/lib/libsqlite3.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"a library")
    library.chmod(0o755)
    build = from_directory(open_dir / "mine")
    assert (build.dbms, build.version, build.server) == ("sqlite", "3.50.2", library)
    assert build.runtime.host == sources.bin / "slowdust-driver"


def test_the_driver_is_copied_to_where_the_servers_account_can_run_it(
    sources: Registry, open_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = open_dir / "closed"
    closed.mkdir()
    shutil.copy(sources.bin / "slowdust-driver", closed)
    closed.chmod(0o700)
    monkeypatch.setenv("SLOWDUST_DRIVER", str(closed / "slowdust-driver"))
    monkeypatch.setattr("slowdust.accounts.Account.can_enter", lambda _, path: path != closed)
    host = resolve("sqlite", "3.50.2", print).runtime.host
    assert host is not None
    assert host.parent == open_dir / "cache/driver"
    assert host.read_text() == DRIVER


def test_a_crate_that_cannot_be_fetched_is_told(sources: Registry) -> None:
    reason = "error: failed to sync\n\nCaused by:\n  no matching package\n  could not connect\n"
    (sources.home / "cargo-fails").write_text(reason)
    with pytest.raises(SlowdustError) as refusal:
        resolve("sqlite", "3.50.2", print)
    assert str(refusal.value) == (
        "cannot get sqlite@3.50.2: tried crate libsqlite3-sys@0.35.0 "
        "(cargo: error: failed to sync: could not connect)"
    )


def test_a_crate_without_its_file_is_told(sources: Registry) -> None:
    write(sources, "cargo", CARGO.format(home=sources.home, folder="elsewhere"))
    with pytest.raises(SlowdustError, match=r"libsqlite3-sys 0\.35\.0 has no sqlite3/sqlite3\.c"):
        resolve("sqlite", "3.50.2", print)


def test_a_failing_compiler_is_told(sources: Registry) -> None:
    (sources.home / "cc-fails").touch()
    with pytest.raises(SlowdustError, match="expected a semicolon"):
        resolve("sqlite", "3.50.2", print)


def test_a_missing_compiler_is_told(sources: Registry) -> None:
    sources.remove_client("cc")
    with pytest.raises(SlowdustError, match="cc is not installed"):
        resolve("sqlite", "3.50.2", print)
