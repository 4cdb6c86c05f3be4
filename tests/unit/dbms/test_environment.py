"""The environment after a contender's '+'."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.dbms.environment import Environment, check_loadable, parse_environment
from slowdust.errors import UsageError


def test_variables_and_an_allocator() -> None:
    environment = parse_environment(["MALLOC_ARENA_MAX=1", "jemalloc", "EMPTY="])
    assert environment.allocator == "jemalloc"
    assert environment.variables == {"MALLOC_ARENA_MAX": "1", "EMPTY": ""}
    assert environment.written == ["jemalloc", "MALLOC_ARENA_MAX=1", "EMPTY="]


def test_allocator_is_preloaded_for_the_server() -> None:
    library = Path("/cache/libjemalloc.so.2")
    environment = Environment("jemalloc", {"A": "1"}, library)
    assert environment.server_variables == {"A": "1", "LD_PRELOAD": str(library)}
    assert Environment("glibc").server_variables == {"LD_PRELOAD": "libc.so.6"}
    assert Environment(None, {"A": "1"}).server_variables == {"A": "1"}


@pytest.mark.parametrize(
    "parts",
    [
        ["hoard"],
        ["1A=2"],
        ["glibc", "jemalloc"],
        ["A=1", "A=2"],
        ["LD_PRELOAD=/x.so"],
        ["LD_BIND_NOW=1"],
        ["PATH=/x"],
        ["LC_ALL=de"],
    ],
)
def test_wrong_environments(parts: list[str], snapshot: SnapshotAssertion) -> None:
    with pytest.raises(UsageError) as error:
        parse_environment(parts)
    assert str(error.value) == snapshot


def test_paths_that_the_loader_would_cut() -> None:
    check_loadable([Path("/var/cache/slowdust/libjemalloc.so.2")])
    for path in ("/my cache/lib.so", "/a:b/lib", "/a;b/lib"):
        with pytest.raises(UsageError, match=f"cannot find {path}, because .* SLOWDUST_CACHE"):
            check_loadable([Path(path)])
