"""An unreadable or unsafe file is one line; the rest is imported."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.unit.archive.command import Slowdust, mentions, report, slowdust
from tests.unit.archive.insert_files import write_runs
from tests.unit.archive.sysbench_files import RUN_A, RUN_B, Written, write_archive

__all__ = ["slowdust"]


@pytest.fixture(params=["sysbench", "iibench"])
def kind(request: pytest.FixtureRequest) -> str:
    actual: str = request.param
    return actual


@pytest.fixture
def archive(tmp_path: Path, kind: str) -> Path:
    """Write two runs; with room for other files in `below`."""
    home = tmp_path / "a"
    if kind == "sysbench":
        write_archive(home, {RUN_A: [Written()], RUN_B: [Written(rate=1200.5)]})
    else:
        write_runs(home, {"8m.my5649.c1": {}, "8m.my8044.c1": {}})
    (home / "below").mkdir()
    return home


@pytest.fixture(autouse=True)
def rest(archive: Path, kind: str, slowdust: Slowdust) -> Iterator[None]:
    """Both runs are imported in spite of other files."""
    yield
    contenders = {result["contender"] for result in report(slowdust, "a")["results"]}
    assert len(contenders) == 2


def useful(kind: str) -> str:
    """Return the name of a file that the import reads."""
    return "qps.abs.x.tsv" if kind == "sysbench" else "o.sum.t.8m.pg174.c1"


def lines_about(printed: str, name: str) -> list[str]:
    return [line.strip() for line in printed.splitlines() if f"{name}: " in line]


Fail = Callable[[object, str, Path, int], None]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Fail:
    """Make a function of an object fail for a path: permissions do not bind root."""

    def fail(owner: object, function: str, path: Path, number: int) -> None:
        whole = getattr(owner, function)

        def partly(given: str | Path, *arguments: object, **options: object) -> object:
            if not isinstance(given, int) and Path(os.fspath(given)) == path:
                raise OSError(number, os.strerror(number), os.fspath(given))
            return whole(given, *arguments, **options)

        monkeypatch.setattr(owner, function, partly)

    return fail


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
def test_an_unreadable_directory(
    *, archive: Path, kind: str, slowdust: Slowdust, failing: Fail, number: int
) -> None:
    (archive / "below" / useful(kind)).write_text("x")
    failing(os, "scandir", archive / "below", number)
    printed = slowdust("import", kind, archive)
    [line] = lines_about(printed, "below")
    assert mentions(line, "skipped: below: ", os.strerror(number))
    assert line in slowdust("show", "a")


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
def test_an_unreadable_file(
    *, archive: Path, kind: str, slowdust: Slowdust, failing: Fail, number: int
) -> None:
    path = archive / useful(kind)
    path.write_text("x")
    failing(Path, "open", path, number)
    printed = slowdust("import", kind, archive)
    [line] = lines_about(printed, path.name)
    assert mentions(line, f"skipped: {path.name}: ", os.strerror(number))


def test_links_to_directories_are_not_followed(
    archive: Path, kind: str, slowdust: Slowdust, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / useful(kind)).write_text("x")
    (archive / "below" / "loop").symlink_to(archive)
    (archive / "below" / "other").symlink_to(elsewhere)
    printed = slowdust("import", kind, archive)
    for name in ("loop", "other"):
        [line] = lines_about(printed, name)
        assert line.startswith(f"skipped: below/{name}: a link to a directory")
    assert useful(kind) not in printed


def test_a_link_that_is_named_is_followed(
    archive: Path, kind: str, slowdust: Slowdust, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(archive)
    assert slowdust("import", kind, "link", "--name", "b")
    slowdust("import", kind, archive)
    assert report(slowdust, "b")["results"] == report(slowdust, "a")["results"]


def _make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as result:
        home = Path.cwd()
        os.chdir(path.parent)  # the path may be too long for a socket
        result.bind(path.name)
        os.chdir(home)


@pytest.mark.parametrize(
    "make",
    [
        os.mkfifo,
        _make_socket,
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.symlink_to("nowhere"),
        lambda path: path.symlink_to(path.name),
    ],
    ids=["pipe", "socket", "device", "dangling link", "link to itself"],
)
def test_pipes_sockets_and_devices_are_not_opened(
    *, archive: Path, kind: str, slowdust: Slowdust, make: Callable[[Path], None]
) -> None:
    path = archive / useful(kind)
    make(path)
    printed = slowdust("import", kind, archive)
    [line] = lines_about(printed, path.name)
    assert mentions(line, f"skipped: {path.name}: ", "regular file")


def test_a_file_with_a_hole(archive: Path, kind: str, slowdust: Slowdust) -> None:
    names = {
        "sysbench": ["o.met.x", "qps.abs.x.tsv", f"{RUN_A}/sb.vm.scan.range100.pk1.dop8"],
        "iibench": ["o.sum.t.8m.pg174.c1", "mrg.l.i0"],
    }[kind]
    for name in names:
        (archive / name).write_bytes(b"1\t2\n" + bytes(4096) + b"\n3\t4\n")
    printed = slowdust("import", kind, archive)
    for name in names:
        [line] = lines_about(printed, name)
        assert mentions(line, f"skipped: {name}: ", "NUL bytes")


def test_directories_in_each_other_are_read_to_a_limit(
    archive: Path, kind: str, slowdust: Slowdust
) -> None:
    (archive / "/".join(["n"] * 300)).mkdir(parents=True)
    printed = slowdust("import", kind, archive)
    assert printed.count(": too many ") == 1
