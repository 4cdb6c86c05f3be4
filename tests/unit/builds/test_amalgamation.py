"""Builds of SQLite, with a fake cargo and a fake compiler."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from syrupy.assertion import SnapshotAssertion

from slowdust.builds import Choices, directories, from_directory, resolve
from slowdust.builds.cache import cached, compiled_records
from slowdust.cli.commands import command
from slowdust.errors import SlowdustError, UsageError

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
DEFINES = "-DSQLITE_ENABLE_DBSTAT_VTAB -DSQLITE_MAX_VARIABLE_NUMBER=32766"


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


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(command("builds"), arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def make_library(folder: Path) -> Path:
    library = folder / "lib/libsqlite3.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"a library")
    library.chmod(0o755)
    return library


def test_an_amalgamation_is_fetched_and_compiled_once(sources: Registry) -> None:
    shown: list[str] = []
    build = resolve("sqlite", "3.50.2", shown.append)
    flags = f"-O2 {DEFINES}"
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


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        ("o2nofp", "-O2 -fno-omit-frame-pointer {defines}"),
        ("o3", "-O3 {defines}"),
        ("debug", "-Og -g -fno-omit-frame-pointer {defines} -DSQLITE_DEBUG"),
    ],
)
def test_named_flags_are_a_build_of_their_own(
    sources: Registry, open_dir: Path, flags: str, options: str
) -> None:
    plain = resolve("sqlite", "3.50.2", print)
    build = resolve("sqlite", "3.50", print, Choices(flags=flags))
    wanted = options.format(defines=DEFINES)
    assert build.source == f"crate libsqlite3-sys@0.35.0, cc 12.2 {wanted}"
    assert f"cc {wanted} -shared" in sources.calls()[-1]
    facts = build.facts.compiled
    assert facts is not None
    assert (facts.place, facts.compiler) == ("crate libsqlite3-sys@0.35.0", "cc 12.2")
    assert facts.content == hashlib.sha256(b"int x;\n").hexdigest()
    assert (facts.flags, facts.options) == (flags, wanted.split())
    assert (build.version, build.facts.version) == ("3.50.2", "3.50.2")

    calls = sources.calls()
    assert resolve("sqlite", "3.50.2", print, Choices(flags=flags)) == build
    assert resolve("sqlite", "3.50.2", print) == plain
    assert sources.calls() == calls, "both are in the cache"
    assert list(compiled_records("sqlite")) == [open_dir / f"cache/compiled/sqlite/3.50.2-{flags}"]


def test_a_build_with_flags_is_shown_listed_and_removed_by_its_name(
    sources: Registry, open_dir: Path, snapshot: SnapshotAssertion
) -> None:
    name = "sqlite@3.50.2+o3"
    invoke("get", "sqlite@3.50.2", name)
    shown = dict(line.split(maxsplit=1) for line in invoke("show", name).splitlines())
    assert shown["build"] == name
    assert shown["sources"] == "crate libsqlite3-sys@0.35.0"
    assert shown["flags"] == f"o3: -O3 {DEFINES}"
    assert shown["compiler"] == "cc 12.2"
    assert shown["sha256"] == hashlib.sha256(b"int x;\n").hexdigest()
    assert "log" not in shown, "what cc printed is not kept"
    assert f"{name}  compiled" in re.sub(" {2,}", "  ", invoke("list"))

    (open_dir / "cache/compiled/sqlite/3.50.2-o3/binaries/lib/libsqlite3.so").write_text("other")
    with pytest.raises(SlowdustError) as error:
        resolve("sqlite", "3.50.2", print, Choices(flags="o3"))
    assert str(error.value) == snapshot
    assert invoke("remove", name) == f"{name}: removed from the cache\n"
    assert compiled_records("sqlite") == {}
    assert cached("sqlite", "3.50.2") is not None, "the build without flags stays"


def test_the_default_flags_are_the_build_without_any(sources: Registry, open_dir: Path) -> None:
    build = resolve("sqlite", "3.50.2", print, Choices(flags="o2"))
    assert build.root == open_dir / "cache/builds/sqlite/3.50.2/binaries"
    assert build.facts.compiled is None
    assert resolve("sqlite", "3.50.2", print) == build


def test_the_default_flags_are_refused_where_the_catalog_has_others(
    sources: Registry, open_dir: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setenv("SLOWDUST_DATA", str(open_dir / "data"))
    (open_dir / "data/catalog").mkdir(parents=True)
    (open_dir / "data/catalog/sqlite.toml").write_text(
        '[sources.own]\nkind = "amalgamation"\ncrate = "libsqlite3-sys"\n'
        'file = "sqlite3/sqlite3.c"\nflags = ["-Os", "-DX"]\n'
        '[versions]\n"3.50.2" = { own = "0.35.0" }\n'
    )
    with pytest.raises(UsageError) as error:
        resolve("sqlite", "3.50.2", print, Choices(flags="o2"))
    assert str(error.value) == snapshot
    faster = resolve("sqlite", "3.50.2", print, Choices(flags="o3"))
    assert faster.source.endswith("cc 12.2 -O3 -DX")


def test_a_registered_directory_has_no_flags(
    sources: Registry, open_dir: Path, snapshot: SnapshotAssertion
) -> None:
    make_library(open_dir / "mine")
    directories.register("patched", open_dir / "mine")
    with pytest.raises(UsageError) as error:
        resolve("sqlite", "patched", print, Choices(flags="o3"))
    assert str(error.value) == snapshot


def test_a_directory_with_a_library_is_a_build(sources: Registry, open_dir: Path) -> None:
    library = make_library(open_dir / "mine")
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


def test_a_crate_that_cannot_be_fetched_is_reported(
    sources: Registry, snapshot: SnapshotAssertion
) -> None:
    reason = "error: failed to sync\n\nCaused by:\n  no matching package\n  could not connect\n"
    (sources.home / "cargo-fails").write_text(reason)
    with pytest.raises(SlowdustError) as refusal:
        resolve("sqlite", "3.50.2", print)
    assert str(refusal.value) == snapshot


def test_a_crate_without_its_file_is_reported(
    sources: Registry, snapshot: SnapshotAssertion
) -> None:
    write(sources, "cargo", CARGO.format(home=sources.home, folder="elsewhere"))
    with pytest.raises(SlowdustError) as error:
        resolve("sqlite", "3.50.2", print)
    assert str(error.value) == snapshot


def test_a_failing_compiler_is_reported(sources: Registry) -> None:
    (sources.home / "cc-fails").touch()
    with pytest.raises(SlowdustError, match="expected a semicolon"):
        resolve("sqlite", "3.50.2", print)


def test_a_missing_compiler_is_reported(sources: Registry) -> None:
    sources.remove_client("cc")
    with pytest.raises(SlowdustError, match="needs cc, not installed here"):
        resolve("sqlite", "3.50.2", print)
