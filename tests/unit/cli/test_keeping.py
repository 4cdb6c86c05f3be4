"""The commands on stored experiments: note, rename, remove, bundle, diff, site and serve."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.unit.cli.command import Slowdust


def test_notes_are_printed_listed_and_shown(
    slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion
) -> None:
    assert slowdust("note", "slap").out == snapshot
    outcome = slowdust("note", "slap", "first night", "--tag", "nightly", "--tag", "kernel-6.12")
    assert outcome.out == snapshot
    assert slowdust("note", "slap", "--untag", "nightly").out == snapshot
    lines = slowdust("list").out.splitlines()
    assert lines[0].split()[-2:] == ["postgres@17.6", "#kernel-6.12"]
    assert lines[1] == "    first night"
    shown = slowdust("show", "slap").out.splitlines()
    assert shown[2:4] == snapshot
    assert slowdust("note", "slap", "").out == snapshot


def test_a_tag_is_one_word(slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion) -> None:
    outcome = slowdust("note", "slap", "--tag", "two words")
    assert outcome.code == 2
    assert outcome.complaint == snapshot
    assert not (results / "slap/annotation.json").exists()


def test_rename(slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion) -> None:
    assert slowdust("rename", "slap", "night").out == snapshot
    assert slowdust("list").out.splitlines()[0].split()[0] == "night"
    outcome = slowdust("rename", "micro", "night")
    assert outcome.code == 2
    assert outcome.complaint == snapshot
    assert slowdust("rename", "slap", "again").code == 2


def test_remove_asks(
    slowdust: Slowdust, results: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: "n")
    outcome = slowdust("remove", "slap")
    assert outcome.code == 1
    assert (results / "slap").exists()
    outcome = slowdust("remove", "slap", "micro", "--yes")
    assert outcome.out == snapshot
    assert [path.name for path in results.iterdir()] == ["insert"]


def test_remove_removes_nothing_if_a_name_is_wrong(
    slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("remove", "slap", "slpa", "--yes")
    assert outcome.code == 2
    assert outcome.complaint == snapshot
    assert (results / "slap").exists()


def test_a_bundle_is_opened_by_another_slowdust(
    slowdust: Slowdust, results: Path, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    assert slowdust("bundle", "micro").out.startswith("bundle: micro.slowdust, ")
    report = slowdust("report", "micro", "--json").out
    outcome = slowdust("import", "bundle", "micro.slowdust", "--results", "elsewhere")
    assert outcome.out == snapshot
    there = slowdust("report", "micro", "--json", "--results", "elsewhere").out
    assert "slowdust more elsewhere/micro " in there
    assert there.replace("elsewhere/micro", "micro") == report
    assert slowdust("report", "micro.slowdust").complaint == snapshot
    again = slowdust("import", "bundle", "micro.slowdust", "--results", "elsewhere")
    assert again.code == 2
    assert again.complaint == snapshot


def test_diff_in_every_format(
    slowdust: Slowdust, results: Path, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    slowdust("bundle", "slap")
    slowdust("import", "bundle", "slap.slowdust", "--name", "again")
    said = slowdust("diff", "slap", "again").out
    assert said == snapshot
    diff = json.loads(slowdust("diff", "slap", "again", "--json").out)
    assert {test["ratio"] for test in diff["tests"]} == {1.0}
    assert slowdust("diff", "slap", "again", "--md").out.startswith("# ")
    outcome = slowdust("diff", "slap", "again", "--html", "diff.html")
    assert outcome.out == "diff: diff.html\n"
    assert (tmp_path / "diff.html").read_text().startswith("<!doctype html>")


def test_site_says_what_it_wrote(
    slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("site", "pages")
    assert outcome.out.splitlines() == snapshot
    (results / "slap/manifest.json").write_text("{")
    outcome = slowdust("site", "pages")
    assert outcome.complaint == snapshot
    assert outcome.out.splitlines()[0] == snapshot


def test_serve_shows_pages_until_it_is_interrupted(results: Path) -> None:
    program = "from slowdust.cli.main import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", program, "serve", "--port", "0", "--results", str(results)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        try:
            server.stdout.readline()
            address = re.search(r"http://[\w.:/]+", server.stdout.readline())
            assert address is not None
            with urllib.request.urlopen(address.group()) as page:
                assert "slap" in page.read().decode()
            server.send_signal(signal.SIGINT)
            out, err = server.communicate(timeout=30)
        finally:
            server.kill()
    assert (server.returncode, out, err) == (0, "\nstopped\n", "")


def test_serve_refuses_a_port_in_use(slowdust: Slowdust, snapshot: SnapshotAssertion) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        outcome = slowdust("serve", "--port", port)
    assert outcome.code == 2
    assert outcome.complaint.replace(str(port), "PORT") == snapshot
