"""Vendors' archives, from a local web server with a vendor's layout."""

from __future__ import annotations

import functools
import hashlib
import http.client
import http.server
import io
import socket
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from click.testing import CliRunner
from syrupy.assertion import SnapshotAssertion

from slowdust.builds import Build, resolve, resolve_archive
from slowdust.builds.sources.archive import NoDowngrade
from slowdust.cli.commands import command
from slowdust.errors import SlowdustError, UsageError

if TYPE_CHECKING:
    Registry = Any  # of conftest.py, which cannot be imported

MakeTar = Callable[[Mapping[str, bytes], str], bytes]

MARIADB = b'#!/bin/sh\necho "mariadbd  Ver 10.6.21-MariaDB for linux-systemd on x86_64"\n'
MYSQL = b'#!/bin/sh\necho "mysqld  Ver 8.0.40 for Linux on x86_64 (MySQL Community Server - GPL)"\n'


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a directory; what is named in `longer` it claims to be longer than it is."""

    longer: ClassVar[set[str]] = set()
    moved: ClassVar[dict[str, str]] = {}
    """Beginning of a path -> where it is now."""

    def do_GET(self) -> None:
        for old, new in self.moved.items():
            if self.path.startswith(old):
                self.send_response(302)
                self.send_header("Location", new + self.path.removeprefix(old))
                self.end_headers()
                return
        super().do_GET()

    def send_header(self, keyword: str, value: str) -> None:
        if keyword == "Content-Length" and Path(self.path).name in self.longer:
            value = str(int(value) + 1000)
        super().send_header(keyword, value)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Vendor:
    """A vendor's web server: the archives of MySQL and MariaDB, below one base."""

    def __init__(self, root: Path, url: str, make_tar: MakeTar) -> None:
        self.root, self.url = root, url
        self.mysql = root / "mysql-8.0/mysql-8.0.40-linux-glibc2.28-x86_64.tar.xz"
        folder = root / "mariadb-10.6.21/bintar-linux-systemd-x86_64"
        self.mariadb = folder / "mariadb-10.6.21-linux-systemd-x86_64.tar.gz"
        for archive, server, content in (
            (self.mysql, "bin/mysqld", MYSQL),
            (self.mariadb, "bin/mariadbd", MARIADB),
        ):
            archive.parent.mkdir(parents=True)
            kind = archive.suffix.removeprefix(".")
            top = archive.name.removesuffix(f".tar.{kind}")
            archive.write_bytes(make_tar({f"{top}/{server}": content}, kind))
        self.publish_checksum(digest(self.mariadb))

    def publish_checksum(self, text: str) -> None:
        other = "0" * 64 + "  mariadb-10.6.21-linux-x86_64.tar.gz\n"
        line = f"{text}  {self.mariadb.name}\n"
        (self.mariadb.parent / "sha256sums.txt").write_text(other + line)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def vendor(
    registry: Registry, open_dir: Path, make_tar: MakeTar, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Vendor]:
    root = open_dir / "vendor"
    handler = functools.partial(Handler, directory=str(root))
    monkeypatch.setattr(Handler, "longer", set())
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("SLOWDUST_MYSQL_MIRROR", url)
        monkeypatch.setenv("SLOWDUST_MARIADB_MIRROR", url + "/")
        for variable in ("http_proxy", "HTTP_PROXY"):
            monkeypatch.delenv(variable, raising=False)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield Vendor(root, url, make_tar)
        server.shutdown()
        thread.join()


def get_mariadb() -> Build:
    return resolve("mariadb", "10.6.21", print)


def get_mysql(location: str | None, sha256: str | None, version: str = "8.0.40") -> Build:
    return resolve_archive("mysql", version, location, sha256, print)


def cached(open_dir: Path) -> list[str]:
    folders = (open_dir / "cache/builds").glob("*/*")
    return [folder.name for folder in folders if not folder.name.endswith(".lock")]


def test_archive_with_checksums_next_to_it(vendor: Vendor) -> None:
    build = get_mariadb()
    url = f"{vendor.url}/{vendor.mariadb.relative_to(vendor.root)}"
    assert build.facts.source == f"archive {url} sha256 {digest(vendor.mariadb)}"
    assert build.server == build.root / "bin/mariadbd"
    assert build.facts.version == "10.6.21"


def test_archive_without_published_checksum_asks_for_it(vendor: Vendor, open_dir: Path) -> None:
    with pytest.raises(SlowdustError, match="publishes no SHA-256") as error:
        resolve("mysql", "8.0.40", print)
    assert "'slowdust builds get mysql@8.0.40 --sha256 HEX'" in str(error.value)
    assert "'slowdust builds get mysql@8.0.40 --from FILE'" in str(error.value)
    assert "\n" not in str(error.value)
    assert cached(open_dir) == []
    assert get_mysql(None, digest(vendor.mysql).upper()).facts.version == "8.0.40"
    assert resolve("mysql", "8.0", print).version == "8.0.40"


def test_wrong_checksum_leaves_nothing(vendor: Vendor, open_dir: Path) -> None:
    vendor.publish_checksum("1" * 64)
    with pytest.raises(SlowdustError, match=r"SHA-256 [0-9a-f]{64} .*1111"):
        get_mariadb()
    with pytest.raises(SlowdustError, match=r"SHA-256 [0-9a-f]{64} instead of 2222"):
        get_mysql(None, "2" * 64)
    with pytest.raises(SlowdustError, match=r"SHA-256 [0-9a-f]{64} instead of 3333"):
        get_mysql(str(vendor.mysql), "3" * 64)
    assert cached(open_dir) == []


def test_checksum_that_is_none(vendor: Vendor, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(UsageError) as error:
        get_mysql(None, "abc")
    assert str(error.value) == snapshot


def test_checksums_without_the_archive(vendor: Vendor, open_dir: Path) -> None:
    (vendor.mariadb.parent / "sha256sums.txt").write_text("0" * 64 + "  other.tar.gz\n")
    with pytest.raises(SlowdustError, match=r"sha256sums\.txt .*checksum of mariadb"):
        get_mariadb()
    (vendor.mariadb.parent / "sha256sums.txt").unlink()
    with pytest.raises(SlowdustError, match=r"sha256sums\.txt: 404"):
        get_mariadb()
    assert cached(open_dir) == []


def test_truncated_download(vendor: Vendor, open_dir: Path) -> None:
    Handler.longer = {vendor.mariadb.name}
    with pytest.raises(SlowdustError, match=r"\d+ of \d+ bytes|interrupted"):
        get_mariadb()
    assert cached(open_dir) == []


def test_archive_that_is_not_there(vendor: Vendor, open_dir: Path) -> None:
    vendor.mariadb.unlink()
    with pytest.raises(
        SlowdustError, match=r"cannot get mariadb@10\.6\.21: .*: 404 File not found"
    ):
        get_mariadb()
    assert cached(open_dir) == []


def test_no_network(vendor: Vendor, open_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    monkeypatch.setenv("SLOWDUST_MARIADB_MIRROR", f"http://127.0.0.1:{port}")
    with pytest.raises(SlowdustError, match=r"cannot get mariadb@10\.6\.21: .*Connection refused"):
        get_mariadb()
    assert cached(open_dir) == []


@pytest.mark.parametrize("part", ["sha256sums.txt", ".tar.gz"])
def test_connection_that_breaks_is_a_fault_of_the_network(
    vendor: Vendor, open_dir: Path, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = http.client.HTTPResponse.read

    def broken(response: http.client.HTTPResponse, size: int | None = None) -> bytes:
        if response.url.endswith(part):
            raise ssl.SSLError(1, "decryption failed or bad record mac")
        return read(response, size)

    monkeypatch.setattr(http.client.HTTPResponse, "read", broken)
    with pytest.raises(SlowdustError, match=r"bad record mac"):
        get_mariadb()
    assert cached(open_dir) == []


def redirected(first: str, second: str) -> str | None:
    request, headers = urllib.request.Request(first), http.client.HTTPMessage()
    new = NoDowngrade().redirect_request(request, io.BytesIO(), 302, "Found", headers, second)
    return new.full_url if new else None


@pytest.mark.parametrize(
    ("first", "second"), [("https://a/x", "http://b/x"), ("HTTPS://a/x", "ftp://b/x")]
)
def test_redirect_to_what_anybody_could_change_is_refused(first: str, second: str) -> None:
    with pytest.raises(urllib.error.URLError, match=f"from https to {second}"):
        redirected(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("https://a/x", "https://b/x"),
        ("http://a/x", "https://b/x"),
        ("http://a/x", "http://b/x"),
    ],
)
def test_redirect_to_what_is_as_safe_is_followed(first: str, second: str) -> None:
    assert redirected(first, second) == second


def test_redirects_are_followed(vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Handler, "moved", {"/old": vendor.url})
    monkeypatch.setenv("SLOWDUST_MARIADB_MIRROR", f"{vendor.url}/old")
    assert get_mariadb().facts.version == "10.6.21"


def test_mirror_that_is_a_directory(vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWDUST_MARIADB_MIRROR", str(vendor.root))
    assert (
        get_mariadb().facts.source
        == f"archive {vendor.mariadb.name} sha256 {digest(vendor.mariadb)}"
    )


def test_file_of_ones_own_needs_no_checksum(vendor: Vendor) -> None:
    build = get_mysql(str(vendor.mysql), None)
    assert build.facts.source == f"archive {vendor.mysql.name} sha256 {digest(vendor.mysql)}"


def test_url_of_ones_own_needs_one(vendor: Vendor) -> None:
    url = f"{vendor.url}/{vendor.mysql.relative_to(vendor.root)}"
    for spelling in (url, url.replace("http", "HTTP", 1)):
        with pytest.raises(UsageError, match="--sha256 HEX"):
            get_mysql(spelling, None)
    assert get_mysql(spelling, digest(vendor.mysql)).facts.version == "8.0.40"


def test_secrets_of_a_url_are_not_printed(vendor: Vendor, snapshot: SnapshotAssertion) -> None:
    place = vendor.mysql.relative_to(vendor.root)
    with_user = f"{vendor.url.replace('://', '://ann:pencil@')}/{place}"
    with pytest.raises(UsageError) as error:
        get_mysql(with_user, digest(vendor.mysql))
    assert str(error.value) == snapshot
    with_token = f"{vendor.url}/{place}?token=pencil"
    with pytest.raises(UsageError, match=r"\?\*\*\* is a URL: add --sha256") as refused:
        get_mysql(with_token, None)
    assert "pencil" not in str(refused.value)
    with pytest.raises(SlowdustError) as failed:
        get_mysql(f"{vendor.url}/none?token=pencil", "0" * 64)
    assert "none?***" in str(failed.value)
    assert "pencil" not in str(failed.value)


def test_archive_of_another_version(vendor: Vendor, open_dir: Path) -> None:
    with pytest.raises(SlowdustError, match=r"mysql@8\.0\.41.* 8\.0\.40"):
        get_mysql(str(vendor.mysql), None, "8.0.41")
    assert cached(open_dir) == []


@pytest.mark.parametrize("name", ["missing.tar.gz", "{version}.tar.gz"])
def test_file_that_is_not_there(vendor: Vendor, open_dir: Path, name: str) -> None:
    with pytest.raises(SlowdustError, match="No such file"):
        get_mysql(str(open_dir / name), None)


def test_zstd_is_reported(vendor: Vendor, open_dir: Path) -> None:
    archive = open_dir / "mysql.tar.zst"
    archive.write_bytes(b"\x28\xb5\x2f\xfd and so on")
    with pytest.raises(SlowdustError, match=r"zstd.* 'slowdust builds add'"):
        get_mysql(str(archive), None)


def test_version_outside_of_the_catalog_is_used_listed_and_removed(
    vendor: Vendor, open_dir: Path, make_tar: MakeTar, snapshot: SnapshotAssertion
) -> None:
    archive = open_dir / "own.tar.gz"
    archive.write_bytes(make_tar({"top/bin/mysqld": MYSQL.replace(b"8.0.40", b"8.0.11")}, "gz"))

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(command("builds"), arguments, catch_exceptions=False)
        assert result.exit_code == 0
        return result.stdout

    assert run("get", "mysql@8.0.11", "--from", str(archive)).startswith(
        "mysql@8.0.11: 8.0.11 from"
    )
    assert run("get", "mysql@8.0.11").startswith("mysql@8.0.11: 8.0.11 from archive own.tar.gz")
    assert "mysql@8.0.11" in run("list")
    with pytest.raises(UsageError) as error:
        run("get", "mysql@8.0.11", "--from", str(archive))
    assert str(error.value) == snapshot
    run("remove", "mysql@8.0.11")
    assert "mysql@8.0.11" not in run("list")


@pytest.mark.parametrize(
    "arguments",
    [
        ["mysql@8.0.40", "mysql@8.0.39", "--sha256", "0" * 64],
        ["mysql@5.6.24", "--sha256", "0" * 64],
        ["mysql@mine", "--from", "x.tar.gz"],
    ],
)
def test_wrong_use(vendor: Vendor, arguments: list[str], snapshot: SnapshotAssertion) -> None:
    with pytest.raises(UsageError) as error:
        CliRunner().invoke(command("builds"), ["get", *arguments], catch_exceptions=False)
    assert str(error.value) == snapshot
