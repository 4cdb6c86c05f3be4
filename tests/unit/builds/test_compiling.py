"""Builds from source, on small projects that build like the servers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.builds import Build, Choices, cache, resolve
from slowdust.builds.compile import LOG
from slowdust.builds.recipe import FLAG_SETS
from slowdust.builds.sizes import chosen_builds, measure_build
from slowdust.errors import SlowdustError, UsageError
from tests.tiers.selection import ends_first, full, needs
from tests.unit.builds.source_projects import (
    CONFIGURE,
    VERSION,
    commit,
    mysqld_sources,
    postgres_sources,
    write,
)

pytestmark = needs("cc", "make", "cmake", "git")


@pytest.fixture(autouse=True)
def own_places(open_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache and a data directory of the test's own."""
    monkeypatch.setenv("SLOWDUST_CACHE", str(open_dir / "cache"))
    monkeypatch.setenv("SLOWDUST_DATA", str(open_dir / "data"))
    monkeypatch.setattr("slowdust.builds.compile.SHOWN_EVERY", 0.1)


@pytest.fixture
def repository(open_dir: Path) -> Path:
    """Two commits of a server: `one`, and `two`, whose version is another."""
    folder = postgres_sources(open_dir / "repository")
    commit(folder, "Begin", "one")
    write(folder, {"src/backend/version.c": VERSION.replace("15.18", "15.19")})
    commit(folder, "Release another", "two")
    return folder


def build(
    repository: Path, ref: str, flags: str | None = None, shown: list[str] | None = None
) -> Build:
    progress = ([] if shown is None else shown).append
    return resolve("postgres", f"git:{ref}", progress, Choices(str(repository), flags))


def log_of(build: Build) -> str:
    return (build.root.parent / LOG).read_text()


def test_commit_is_built_with_its_provenance(repository: Path) -> None:
    shown: list[str] = []
    built = build(repository, "one", shown=shown)

    assert (built.dbms, built.version, built.facts.version) == ("postgres", "git:one", "15.18")
    facts = built.facts.compiled
    assert facts is not None
    assert (facts.ref, facts.subject, facts.flags) == ("one", "Begin", "o2")
    assert facts.commit is not None
    assert facts.commit[:12] in built.source
    assert '"Begin"' in built.source
    assert "gcc" in facts.compiler
    assert built.server.stat().st_uid == built.root.stat().st_uid, "no other user may change it"
    phases = [re.split(r"\W", phase)[0] for phase in shown]
    assert phases[:3] == ["exporting", "configuring", "compiling"]
    assert phases[-1] == "installing"


def test_next_commit_compiles_what_changed_in_a_configured_tree(
    repository: Path,
) -> None:
    first = build(repository, "one")
    second = build(repository, "two")
    assert (first.facts.version, second.facts.version) == ("15.18", "15.19")
    assert first.facts.sha256 != second.facts.sha256
    compiled = re.findall(r"gcc -O2 -c -o (\S+)", log_of(second))
    assert compiled == ["version.o"], "nor does the log of another build stay in it"
    assert re.findall(r"gcc -O2 -c -o (\S+)", log_of(first)) == ["main.o", "version.o"]
    configured = next(line for line in log_of(first).splitlines() if "/configure " in line)
    assert log_of(second).startswith(configured)
    assert log_of(second).count(configured) == 1


def test_binaries_do_not_depend_on_what_was_compiled_before(repository: Path) -> None:
    first = build(repository, "one")
    build(repository, "two")
    cache.remove_compiled(first.root.parent)
    assert build(repository, "one").facts.sha256 == first.facts.sha256


def test_content_is_compiled_once(repository: Path) -> None:
    first = build(repository, "two")
    commit(repository, "Say no more", "three")
    shown: list[str] = []
    same = build(repository, "three", shown=shown)
    assert shown == []
    assert same.server == first.server
    assert same.facts.compiled is not None
    assert (same.facts.compiled.ref, same.facts.compiled.subject) == ("three", "Say no more")


def test_flags_are_other_builds_each_with_its_size(
    repository: Path, snapshot: SnapshotAssertion
) -> None:
    plain, vectors = build(repository, "one"), build(repository, "one", "o3")
    assert plain.root != vectors.root
    assert "gcc -O3 -c" in log_of(vectors)
    chosen = chosen_builds(["postgres@git:*"])
    assert [choice.name for choice in chosen] == ["postgres@git:one", "postgres@git:one+o3"]
    sizes = [measure_build(choice.build(print)) for choice in chosen]
    assert [each.version for each in sizes] == ["git:one", "git:one+o3"]
    assert all(each.server.stripped_bytes > 0 for each in sizes)
    with pytest.raises(UsageError) as error:
        build(repository, "one", "o9")
    assert str(error.value) == snapshot


def test_another_compiler_of_either_language_is_another_build(
    repository: Path, open_dir: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    usual = build(repository, "one")
    other = open_dir / "other-g++"
    other.write_text('#!/bin/sh\n[ "$1" = --version ] && echo other 99 || exec g++ "$@"\n')
    other.chmod(0o755)
    monkeypatch.setenv("CXX", str(other))
    built = build(repository, "one")
    assert built.root != usual.root
    assert built.facts.compiled is not None
    assert built.facts.compiled.compiler.endswith(" and other 99")
    monkeypatch.setenv("CC", "gcc -m64")
    with pytest.raises(SlowdustError) as error:
        build(repository, "one")
    assert str(error.value) == snapshot


@pytest.mark.parametrize("name", ends_first([*FLAG_SETS]))
def test_all_sets_of_flags_build(repository: Path, name: str) -> None:
    built = build(repository, "one", name)
    facts = built.facts.compiled
    assert facts is not None
    assert f"gcc {' '.join(facts.options)} -c" in log_of(built)


def test_failure_shows_the_end_of_the_log(repository: Path) -> None:
    write(repository, {"src/backend/main.c": "#include <absent.h>\n"})
    commit(repository, "Break it", "broken")
    with pytest.raises(SlowdustError) as error:
        build(repository, "broken")
    text = str(error.value)
    assert re.search("make .* code 2", text)
    assert "absent.h: No such file or directory" in text
    log = re.search(r"(/\S+\.log)\b", text)
    assert log is not None
    assert "absent.h" in Path(log[1]).read_text(encoding="utf-8")
    assert build(repository, "one").facts.version == "15.18", "the next build is not disturbed"


def test_missing_library_is_named_with_its_package(repository: Path) -> None:
    write(
        repository,
        {"configure": "#!/bin/sh\necho 'configure: error: zlib library not found'\nexit 1\n"},
    )
    commit(repository, "Need zlib", "zlib")
    with pytest.raises(SlowdustError, match="sudo apt install zlib1g-dev"):
        build(repository, "zlib")


def test_missing_program_is_named_with_its_package(
    repository: Path, open_dir: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    programs = open_dir / "bin"
    programs.mkdir()
    for name in ("git", "gcc", "g++", "perl", "as", "ld"):
        if path := shutil.which(name):
            (programs / name).symlink_to(path)
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(SlowdustError) as error:
        build(repository, "one")
    assert str(error.value) == snapshot


def test_sources_of_another_dbms_are_refused(repository: Path) -> None:
    with pytest.raises(UsageError, match=r"mysql.* CMakeLists\.txt"):
        resolve("mysql", "git:one", print, Choices(str(repository)))


def test_interrupted_build_ends_its_compilers(repository: Path, open_dir: Path) -> None:
    write(repository, {"configure": "#!/bin/sh\necho $$ > pid\nsleep 300 & echo $! >> pid\nwait\n"})
    commit(repository, "Take long", "slow")

    def interrupt(phase: str) -> None:
        if phase == "configuring, 1s":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        resolve("postgres", "git:slow", interrupt, Choices(str(repository)))
    (pids,) = (open_dir / "cache/trees").rglob("pid")
    for pid in pids.read_text().split():
        status = Path(f"/proc/{pid}/stat")
        assert not status.exists() or ") Z " in status.read_text(encoding="utf-8")


def test_killed_build_leaves_neither_compilers_nor_torn_objects(
    repository: Path, open_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slowdust.builds.compile.STOP_WITHIN", 0.2)
    pids = open_dir / "pids"  # of the compiler that never ends, the first one
    pids.touch()
    pids.chmod(0o666)
    hang = f"[ -s {pids} ] || {{ echo torn > \\$@; sleep 300 & echo \\$\\$! > {pids}; wait; }}"
    write(repository, {"configure": CONFIGURE.replace("\tgcc $c", f"\t{hang}; gcc $c")})
    commit(repository, "Take long", "slow")
    code = (
        "from slowdust.builds import Choices, resolve\n"
        f"resolve('postgres', 'git:slow', print, Choices({str(repository)!r}))"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL) as compiling:
        end = time.monotonic() + 30
        while not pids.read_text() and time.monotonic() < end:
            time.sleep(0.02)
        compiling.kill()

    assert build(repository, "slow").facts.version == "15.19"
    status = Path(f"/proc/{pids.read_text().strip()}/stat")
    assert not status.exists() or ") Z " in status.read_text(encoding="utf-8")


def test_directory_is_built_as_it_is(repository: Path) -> None:
    write(repository, {"src/backend/version.c": VERSION.replace("15.18", "15.20")})
    version = f"source:{repository}"
    built = resolve("postgres", version, print)
    assert (built.version, built.facts.version) == (version, "15.20")
    assert built.facts.compiled is not None
    assert built.facts.compiled.commit is None
    write(repository, {"src/backend/version.c": VERSION.replace("15.18", "15.21")})
    assert resolve("postgres", version, print).facts.version == "15.21"


def test_files_that_the_compiler_may_not_read_are_not_installed(
    repository: Path, open_dir: Path
) -> None:
    secret = open_dir / "secret"
    secret.write_text("of root")
    secret.chmod(0o600)
    configure = (repository / "configure").read_text()
    linked = f"\tln -s {secret} \\$(DESTDIR)/usr/local/pgsql/bin/secret\nEND\n"
    write(repository, {"configure": configure.removesuffix("END\n") + linked})
    with pytest.raises(SlowdustError, match="'bin/secret' is a link"):
        resolve("postgres", f"source:{repository}", print)


def test_archive_is_built_without_its_folder(repository: Path, open_dir: Path) -> None:
    archive = open_dir / "postgres-15.19.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(repository, "postgres-15.19")
    assert resolve("postgres", f"source:{archive}", print).facts.version == "15.19"


def test_path_of_sources_that_is_absent(open_dir: Path) -> None:
    with pytest.raises(UsageError, match="/absent"):
        resolve("postgres", f"source:{open_dir / 'absent'}", print)


@pytest.mark.parametrize(
    ("dbms", "version"),
    [("mysql", "8.4.3"), pytest.param("mariadb", "11.4.5-MariaDB", marks=full)],
)
def test_cmake_builds_with_the_flags_of_the_set(open_dir: Path, dbms: str, version: str) -> None:
    folder = mysqld_sources(open_dir / "repository", version)
    commit(folder, "Begin", "one")
    built = resolve(dbms, "git:one", print, Choices(str(folder), "o3"))
    assert built.facts.version == version.partition("-")[0]
    assert "-DCMAKE_CXX_FLAGS_RELEASE=-O3 -DNDEBUG" in log_of(built)
    with pytest.raises(SlowdustError, match="version"):
        # It has assertions, with which this one prints nothing.
        resolve(dbms, "git:one", print, Choices(str(folder), "debug"))


MESON = """#!/bin/sh
case $1 in
setup) echo "Compiler: $CC"; cp "$3/server" server ;;
install)
    for destination in "$@"; do :; done
    mkdir -p "$destination/usr/local/pgsql/bin"
    cp server "$destination/usr/local/pgsql/bin/postgres" ;;
esac
"""
NINJA = """#!/bin/sh
echo "[1/1200] Compiling C object a.o"
sleep 0.5
echo "[900/1200] Compiling C object b.o"
sleep 0.5
"""
SERVER = "#!/bin/sh\necho 'postgres (PostgreSQL) 18.4'\n"


def test_meson_builds_postgres_where_it_is_installed(
    open_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs, folder = open_dir / "bin", open_dir / "repository"
    write(programs, {"meson": MESON, "ninja": NINJA, "bison": "#!/bin/sh", "flex": "#!/bin/sh"})
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    postgres_sources(folder)
    write(folder, {"meson.build": "", "server": SERVER})
    commit(folder, "Begin", "one")
    shown: list[str] = []
    built = build(folder, "one", "debug", shown)
    assert built.facts.version == "18.4"
    log = log_of(built)
    assert "-Dc_args=-Og -g -fno-omit-frame-pointer" in log
    assert "-Dcassert=true" in log
    assert "Compiler: " in log
    assert any(phase.startswith("compiling 900 of 1,200, ") for phase in shown)
