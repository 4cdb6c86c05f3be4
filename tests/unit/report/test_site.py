"""A site: its pages, their links and its updates."""

from __future__ import annotations

import http.client
import re
import shutil
import socket
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.errors import UsageError
from slowdust.report.site.index import Pairs
from slowdust.report.site.server import LOOPBACK, Server
from slowdust.report.site.site import Site, publish
from slowdust.store.experiments import Annotation, remove_experiment, write_annotation
from slowdust.store.folder import Folder
from tests.unit.report.outline import words
from tests.unit.synthetic_history import keep, measured

FOREIGN = "<script>alert(1)</script>"
NIGHTS = ("night-1", "night-2", "night+3")


@pytest.fixture(scope="module")
def measured_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("measured")
    for day, name in enumerate(NIGHTS, start=1):
        manifest, slices = measured(
            name, {"8.0.28": 1.0, "8.0.40": 0.9}, tests=["scan", "point-query"], seed=day
        )
        manifest.started = f"2026-11-0{day}T02:00:00Z"
        manifest.host["CPU"] = FOREIGN
        keep(results, manifest, slices)
    return results


def annotated_copy(measured: Path, folder: Path) -> Path:
    for source in measured.rglob("*"):
        if source.is_file() and source.name != ".lock":
            target = folder / source.relative_to(measured)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    write_annotation(
        Folder(folder / "night-1"), Annotation(note=f"moon {FOREIGN}", tags=["nightly"])
    )
    return folder


@pytest.fixture
def results(tmp_path: Path, measured_once: Path) -> Path:
    return annotated_copy(measured_once, tmp_path / "results")


class _Links(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.targets += [value for name, value in attrs if name == "href" and value]


def test_every_link_leads_to_a_page(results: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    outcome = publish(results, site)
    expected = {"index.html", "dates.html", "versions.html"}
    expected |= {f"experiments/{name}.html" for name in NIGHTS}
    expected |= {"diff/night-1/night-2.html", "diff/night-2/night+3.html"}
    assert set(outcome.written) == expected
    for path in expected:
        page = (site / path).read_text()
        targets = [unquote(each) for each in _Links(page).targets if not each.startswith("#")]
        assert targets, path
        for target in targets:
            assert (site / path).parent.joinpath(target).is_file(), f"{target} in {path}"


def test_nothing_foreign_becomes_markup(results: Path, tmp_path: Path) -> None:
    publish(results, tmp_path / "site")
    for path in (tmp_path / "site").rglob("*.html"):
        assert FOREIGN not in path.read_text(), path
    index = (tmp_path / "site/index.html").read_text()
    assert "moon &lt;script&gt;alert(1)&lt;/script&gt;" in index
    assert "http://" not in re.sub(r'xmlns="[^"]*"', "", index)


def test_a_site_is_written_again_over_itself(results: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    everything = publish(results, site).written
    write_annotation(Folder(results / "night-2"), Annotation(note="new kernel"))
    again = publish(results, site)
    assert (again.written, again.removed) == (everything, [])
    assert "new kernel" in (site / "index.html").read_text()
    assert "new kernel" in (site / "experiments/night-2.html").read_text()


def test_pages_of_removed_experiments_go_and_other_files_stay(
    results: Path, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    publish(results, site)
    (site / "experiments/mine.html").write_text("mine")
    remove_experiment(Folder(results / "night-2"))
    outcome = publish(results, site)
    assert set(outcome.removed) == {
        "experiments/night-2.html",
        "diff/night-1/night-2.html",
        "diff/night-2/night+3.html",
    }
    assert "diff/night-1/night+3.html" in outcome.written
    assert (site / "experiments/mine.html").read_text() == "mine"
    assert "night-2" not in (site / "index.html").read_text()


def test_files_of_others_are_never_overwritten(
    results: Path, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "index.html").write_text("my home page")
    with pytest.raises(UsageError) as error:
        publish(results, tmp_path)
    assert str(error.value) == snapshot
    assert (tmp_path / "index.html").read_text() == "my home page"
    assert not (tmp_path / "experiments").exists()


def test_unreadable_and_unfinished_experiments_are_listed_as_such(
    results: Path, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    (results / "night-1/manifest.json").write_text("{")
    path = results / "night-2/manifest.json"
    path.write_bytes(re.sub(rb'\s*"finished": "[^"]*",', b"", path.read_bytes()))
    outcome = publish(results, tmp_path / "site")
    assert outcome.unreadable == ["night-1"]
    index = (tmp_path / "site/index.html").read_text()
    assert words(index) == snapshot
    assert not (tmp_path / "site/experiments/night-1.html").exists()


def test_records_that_are_damaged_have_no_page_and_a_reason(
    results: Path, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    publish(results, tmp_path / "site")
    (results / "night-2/slices.ndjson").write_text("{\n")
    outcome = publish(results, tmp_path / "site")
    assert outcome.unreadable == ["night-2"]
    assert not (tmp_path / "site/experiments/night-2.html").exists()
    assert not (tmp_path / "site/diff/night-1/night-2.html").exists()
    assert words((tmp_path / "site/index.html").read_text()) == snapshot
    assert "2026-11-02" not in (tmp_path / "site/dates.html").read_text()
    for path in ("index.html", "experiments/night+3.html"):
        assert "diff/night-2/" not in (tmp_path / "site" / path).read_text()
    assert str(tmp_path) not in (tmp_path / "site/index.html").read_text()


def test_a_copied_folder_is_a_page_of_its_own(results: Path, tmp_path: Path) -> None:
    shutil.copytree(results / "night-1", results / "copy")
    outcome = publish(results, tmp_path / "site")
    assert "experiments/copy.html" in outcome.written
    assert not any(path.startswith("diff/") and "copy" in path for path in outcome.written)


def test_trends_by_date_have_each_night(results: Path, tmp_path: Path) -> None:
    publish(results, tmp_path / "site")
    page = (tmp_path / "site/dates.html").read_text()
    assert "mysql@8.0.40 compared with mysql@8.0.28" in page
    for day in ("2026-11-01", "2026-11-02", "2026-11-03"):
        assert f">{day}</abbr></a></th>" in page
    assert page.count(">0.90<small>") == 6


def test_an_empty_results_folder_has_a_site(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    publish(tmp_path / "none", tmp_path / "site")
    for path in ("index.html", "dates.html", "versions.html"):
        body = (tmp_path / "site" / path).read_text().partition("<main")[2]
        assert words(body.partition("</main>")[0]) == snapshot


@pytest.fixture(scope="module")
def served(measured_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results folder of the server, which no test changes."""
    return annotated_copy(measured_once, tmp_path_factory.mktemp("served") / "results")


@pytest.fixture(scope="module")
def server(served: Path) -> Iterator[Server]:
    publish(served, served.parent / "site", Pairs.ANY)
    with Server(Site(served, Pairs.ANY), served.parent / "site", 0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def get(
    server: Server, path: str, method: str = "GET", **headers: str
) -> tuple[http.client.HTTPResponse, str]:
    connection = http.client.HTTPConnection(LOOPBACK, server.server_port, timeout=30)
    connection.request(method, path, headers=headers)
    response = connection.getresponse()
    return response, response.read().decode()


def test_a_served_site_has_the_same_pages(server: Server, served: Path, tmp_path: Path) -> None:
    publish(served, tmp_path / "site")
    for path in ("experiments/night%2B3.html", "dates.html", "diff/night-1/night-2.html"):
        response, page = get(server, f"/{path}")
        assert response.status == 200
        assert page == (tmp_path / "site" / unquote(path)).read_text()
    assert get(server, "/")[1] == get(server, "/index.html")[1]


def test_a_served_site_compares_any_two(server: Server) -> None:
    response, page = get(server, "/diff/night-1/night%2B3.html")
    assert response.status == 200
    assert "<b>night-1</b>, then <b>night+3</b>" in page


def test_a_page_that_has_not_changed_is_not_sent_again(server: Server) -> None:
    response, _ = get(server, "/")
    since = response.headers["Last-Modified"]
    response, body = get(server, "/", **{"If-Modified-Since": since})
    assert (response.status, body) == (304, "")


@pytest.mark.parametrize(
    "path",
    [
        *("/experiments/none.html", "/../../etc/passwd", "/experiments/..%2f..%2fetc%2fpasswd"),
        *("/diff/night-1/night-1.html", "/diff/../night-1.html", "/.slowdust-site.json"),
    ],
)
def test_there_is_nothing_but_the_pages(server: Server, path: str) -> None:
    response, body = get(server, path)
    assert response.status == 404
    assert "<table" not in body


def test_paths_in_messages_are_escaped(server: Server) -> None:
    assert FOREIGN not in get(server, "/%3Cscript%3Ealert(1)%3C/script%3E")[1]


def test_it_answers_to_no_other_name_and_writes_nothing(server: Server) -> None:
    assert get(server, "/", Host="attacker.example")[0].status == 403
    assert get(server, "/", method="POST")[0].status == 501
    assert server.server_address[0] == LOOPBACK


@pytest.mark.parametrize("path", [b"http://[", b"//[x", b"/%ff", b"/\xff", b"/%00"])
def test_unknown_addresses_get_an_answer(
    server: Server, capfd: pytest.CaptureFixture[str], path: bytes
) -> None:
    with socket.create_connection((LOOPBACK, server.server_port), timeout=30) as connection:
        host = f"{LOOPBACK}:{server.server_port}".encode()
        connection.sendall(b"GET %b HTTP/1.0\r\nHost: %b\r\n\r\n" % (path, host))
        with connection.makefile("rb") as answer:
            status = answer.read()[:12]
    assert status in (b"HTTP/1.1 400", b"HTTP/1.1 404")
    assert capfd.readouterr().err == ""


def test_a_browser_that_goes_away_is_no_error(
    server: Server, capfd: pytest.CaptureFixture[str]
) -> None:
    for error, is_told in ((BrokenPipeError(), False), (RuntimeError("a fault"), True)):
        try:
            raise error  # noqa: TRY301
        except Exception:
            server.handle_error(None, ("127.0.0.1", 1))
        assert ("a fault" in capfd.readouterr().err) == is_told


def test_a_port_in_use_is_wrong_use(server: Server, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(UsageError) as error:
        Server(server.site, server.folder, server.server_port)
    assert str(error.value).replace(str(server.server_port), "PORT") == snapshot
