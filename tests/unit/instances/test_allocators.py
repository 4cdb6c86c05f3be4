"""The library that provides malloc, from the output of the dynamic loader."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.accounts import server_account
from slowdust.builds import Build
from slowdust.instances.preloads import (
    AllocatorError,
    Malloc,
    check_loaded,
    find_malloc,
    identify_malloc,
    loaded_allocator,
)
from slowdust.store.manifest import BuildFacts

SERVER = Path("/b/bin/mysqld")
LIBC = Path("/lib/libc.so.6")


@pytest.mark.parametrize(
    ("bindings", "malloc"),
    [
        ([(LIBC, "malloc")], Malloc(LIBC, "glibc", is_built_in=False)),
        (
            [("/b/ld-linux-x86-64.so.2", "malloc"), ("/b/libtcmalloc.so.4", "malloc")],
            Malloc(Path("/b/libtcmalloc.so.4"), "tcmalloc", is_built_in=False),
        ),
        (
            [("/b/libtcmalloc_minimal.so.4", "malloc")],
            Malloc(Path("/b/libtcmalloc_minimal.so.4"), "tcmalloc", is_built_in=False),
        ),
        (
            [(SERVER, "malloc"), ("/b/libjemalloc.so.1", "malloc")],  # by the server's own table
            Malloc(Path("/b/libjemalloc.so.1"), "jemalloc", is_built_in=False),
        ),
        (
            [(SERVER, "malloc"), (SERVER, "malloc_conf")],
            Malloc(SERVER, "jemalloc", is_built_in=True),
        ),
        ([(SERVER, "malloc")], Malloc(SERVER, "mysqld", is_built_in=True)),
        (
            [("/b/libhoard.so", "malloc")],
            Malloc(Path("/b/libhoard.so"), "libhoard.so", is_built_in=False),
        ),
        ([], None),
        ([(LIBC, "malloc_usable_size")], None),
    ],
)
def test_the_library_that_has_malloc(
    bindings: list[tuple[object, str]], malloc: Malloc | None
) -> None:
    bound = [(str(file), symbol) for file, symbol in bindings]
    assert identify_malloc(bound, SERVER) == malloc


def test_loader_reports_a_program_of_this_machine() -> None:
    facts = BuildFacts(source="directory", version="1", sha256="", binary_bytes=1)
    build = Build("postgres", "1", Path("/bin"), "directory", Path("/bin/sh"), facts)
    malloc = find_malloc(build, server_account(), {})
    assert malloc is not None
    assert malloc.kind == "glibc"
    assert malloc.file.name == "libc.so.6"


def test_a_mapped_library_is_in_use() -> None:
    mapped = {Path(line.split()[-1]) for line in _maps() if "/libc" in line}
    malloc = Malloc(mapped.pop(), "glibc", is_built_in=False)
    assert loaded_allocator(os.getpid(), malloc) == "glibc"
    check_loaded(os.getpid(), malloc, "glibc")
    with pytest.raises(AllocatorError, match=r"jemalloc: .* /"):
        check_loaded(os.getpid(), malloc, "jemalloc")


def test_a_library_that_is_not_mapped_is_reported() -> None:
    malloc = Malloc(Path("/b/libjemalloc.so.2"), "jemalloc", is_built_in=False)
    with pytest.raises(AllocatorError, match=r"/b/libjemalloc\.so\.2"):
        check_loaded(os.getpid(), malloc, "jemalloc")
    assert loaded_allocator(os.getpid(), malloc) is None


def test_a_library_that_was_replaced_since_is_still_at_work(tmp_path: Path) -> None:
    library = tmp_path / "libjemalloc.so.2"
    library.write_bytes(b"code")
    malloc = Malloc(library, "jemalloc", is_built_in=False)
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ):
        library.unlink()
        assert any(line.endswith(f"{library} (deleted)") for line in _maps())
        assert loaded_allocator(os.getpid(), malloc) == "jemalloc"
        check_loaded(os.getpid(), malloc, "jemalloc")


def test_maps_that_cannot_be_read_matter_only_where_an_allocator_was_asked_for() -> None:
    malloc = Malloc(LIBC, "glibc", is_built_in=False)
    nobody = 2**22 + 1  # beyond the largest process id
    assert loaded_allocator(nobody, malloc) is None
    with pytest.raises(AllocatorError, match=r"glibc: /proc/"):
        check_loaded(nobody, malloc, "glibc")


def _maps() -> list[str]:
    return Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()


def test_built_in_malloc_cannot_be_replaced(snapshot: SnapshotAssertion) -> None:
    malloc = Malloc(SERVER, "jemalloc", is_built_in=True)
    with pytest.raises(AllocatorError) as error:
        check_loaded(os.getpid(), malloc, "jemalloc")
    assert str(error.value) == snapshot


def test_a_silent_loader_confirms_no_allocator(snapshot: SnapshotAssertion) -> None:
    assert loaded_allocator(os.getpid(), None) is None
    with pytest.raises(AllocatorError) as error:
        check_loaded(os.getpid(), None, "tcmalloc")
    assert str(error.value) == snapshot
