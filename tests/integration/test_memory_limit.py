"""Servers with a limit of memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.dbms import family
from slowdust.errors import SlowdustError
from slowdust.instances.control_groups import MemoryLimit, remove_group
from slowdust.instances.instance import Instance
from slowdust.instances.leftovers import sweep
from slowdust.instances.programs import InstanceError
from slowdust.instances.rundir import RunDirectory
from tests.integration.conftest import GetBuildOf, Query
from tests.waiting import wait_until

LIMIT = 96 << 20


@pytest.fixture(autouse=True)
def _groups_can_be_made() -> None:
    try:
        limit = MemoryLimit.make(LIMIT)
    except SlowdustError as error:
        pytest.skip(str(error))
    remove_group(limit.folder)
    assert not limit.folder.exists()


def used(limit: MemoryLimit) -> int:
    """Return the bytes of memory that the group has."""
    names = ("memory.usage_in_bytes", "memory.current")
    return next(
        int((limit.folder / name).read_text()) for name in names if (limit.folder / name).exists()
    )


def test_the_memory_of_a_server_and_its_files_is_limited(
    data_root: Path, builds: GetBuildOf, query: Query
) -> None:
    del data_root
    build = builds("postgres", "17.6")
    settings = family("postgres").settings("small", {"shared_buffers": "16MB"}, 1)
    with RunDirectory.open("limited") as run:
        instance = Instance.create(run, "a", build, settings, memory_bytes=LIMIT)
        limit = instance.memory_limit
        assert limit is not None
        instance.start()
        query(
            instance.target(),
            "CREATE TABLE t AS SELECT i, repeat('x', 200) FROM generate_series(1, 1000000) i",
        )
        ((table,),) = query(instance.target(), "SELECT pg_relation_size('t')")
        assert int(table or 0) > 2 * LIMIT
        assert used(limit) <= LIMIT
        assert used(limit) > LIMIT / 2, "it holds what the server has read"
        instance.stop()
        instance.start()
        members = (limit.folder / "cgroup.procs").read_text().split()
        assert str(instance.pid) in members, "the limit holds for every start"
        assert instance.alive()
    assert not limit.folder.exists()


def test_a_server_that_needs_more_says_so(data_root: Path, builds: GetBuildOf) -> None:
    del data_root
    # It takes its memory for this schema when it starts.
    overrides = {"performance_schema": "ON"}
    settings = family("mysql").settings("small", overrides, 1, engine="innodb")
    with RunDirectory.open("limited") as run:
        build = builds("mysql", "5.6.24")
        instance = Instance.create(run, "a", build, settings, engine="innodb", memory_bytes=LIMIT)
        with pytest.raises(InstanceError, match="--memory 100,663,296 bytes"):
            instance.start()


def test_the_group_of_a_killed_run_is_removed(data_root: Path, builds: GetBuildOf) -> None:
    del data_root
    settings = family("postgres").settings("small", {}, 1)
    with RunDirectory.open("limited") as run:
        instance = Instance.create(
            run, "a", builds("postgres", "17.6"), settings, memory_bytes=4 * LIMIT
        )
        instance.start()
        assert instance.memory_limit is not None
        folder = instance.memory_limit.folder
        assert sweep(run.path).servers == 1
        wait_until(lambda: not instance.alive())
        assert not folder.exists()
        run.path.mkdir()  # closed below, as usual
