"""The commands that keep experiments: note, rename, remove, bundle, diff, site and serve."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.unit.cli.command import Slowdust


def test_notes_are_printed_listed_and_shown(slowdust: Slowdust, results: Path) -> None:
    assert slowdust("note", "slap") == (0, "no note\ntags: none\n", "")
    outcome = slowdust("note", "slap", "first night", "--tag", "nightly", "--tag", "kernel-6.12")
    assert outcome.out == "first night\ntags: kernel-6.12, nightly\n"
    assert slowdust("note", "slap", "--untag", "nightly").out == "first night\ntags: kernel-6.12\n"
    lines = slowdust("list").out.splitlines()
    assert lines[0].split()[-2:] == ["postgres@17.6", "#kernel-6.12"]
    assert lines[1] == "    first night"
    shown = slowdust("show", "slap").out.splitlines()
    assert shown[2:4] == ["note: first night", "tags: kernel-6.12"]
    assert slowdust("note", "slap", "").out == "no note\ntags: kernel-6.12\n"


def test_a_tag_is_one_word(slowdust: Slowdust, results: Path) -> None:
    outcome = slowdust("note", "slap", "--tag", "two words")
    assert outcome.code == 2
    assert outcome.complaint.startswith("slowdust: 'two words' is not a tag")
    assert not (results / "slap/annotation.json").exists()


def test_rename(slowdust: Slowdust, results: Path) -> None:
    assert slowdust("rename", "slap", "night").out == "slap is now night, in results/night\n"
    assert slowdust("list").out.splitlines()[0].split()[0] == "night"
    outcome = slowdust("rename", "micro", "night")
    assert outcome.code == 2
    assert "there is a 'night' in results already" in outcome.complaint
    assert slowdust("rename", "slap", "again").code == 2


def test_remove_asks(slowdust: Slowdust, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: "n")
    outcome = slowdust("remove", "slap")
    assert (outcome.code, outcome.complaint) == (1, "slowdust: stopped")
    assert (results / "slap").exists()
    outcome = slowdust("remove", "slap", "micro", "--yes")
    assert outcome.out.splitlines()[2:] == ["removed slap", "removed micro"]
    assert [path.name for path in results.iterdir()] == ["insert"]


def test_remove_removes_nothing_if_a_name_is_wrong(slowdust: Slowdust, results: Path) -> None:
    outcome = slowdust("remove", "slap", "slpa", "--yes")
    assert outcome.code == 2
    assert outcome.complaint == "slowdust: no experiment 'slpa' in results: did you mean slap?"
    assert (results / "slap").exists()


def test_a_bundle_is_opened_by_another_slowdust(
    slowdust: Slowdust, results: Path, tmp_path: Path
) -> None:
    assert slowdust("bundle", "micro").out.startswith("bundle: micro.slowdust, ")
    report = slowdust("report", "micro", "--json").out
    outcome = slowdust("import", "bundle", "micro.slowdust", "--results", "elsewhere")
    assert outcome.out == "micro: imported, `slowdust report elsewhere/micro` shows it\n"
    there = slowdust("report", "micro", "--json", "--results", "elsewhere").out
    assert "slowdust more elsewhere/micro " in there
    assert there.replace("elsewhere/micro", "micro") == report
    hint = "micro.slowdust is a bundle: `slowdust import bundle micro.slowdust` opens it"
    assert slowdust("report", "micro.slowdust").complaint == f"slowdust: {hint}"
    again = slowdust("import", "bundle", "micro.slowdust", "--results", "elsewhere")
    assert again.code == 2
    assert "choose another with --name" in again.complaint


def test_diff_in_every_format(slowdust: Slowdust, results: Path, tmp_path: Path) -> None:
    slowdust("bundle", "micro")
    slowdust("import", "bundle", "micro.slowdust", "--name", "again")
    said = slowdust("diff", "micro", "again").out
    assert said.splitlines()[0].startswith(
        "2 contenders against postgres@15.8, from micro to again"
    )
    assert "Both began at the same time: one may be a copy of the other." in said
    diff = json.loads(slowdust("diff", "micro", "again", "--json").out)
    assert {test["ratio"] for test in diff["tests"]} == {1.0}
    assert slowdust("diff", "micro", "again", "--md").out.startswith("# micro and again\n")
    outcome = slowdust("diff", "micro", "again", "--html", "diff.html")
    assert outcome.out == "diff: diff.html\n"
    assert (tmp_path / "diff.html").read_text().startswith("<!doctype html>")


def test_site_says_what_it_wrote(slowdust: Slowdust, results: Path) -> None:
    outcome = slowdust("site", "pages")
    assert outcome.out.splitlines() == [
        "6 pages written, 0 unchanged, 0 removed",
        "site: pages/index.html",
    ]
    (results / "slap/manifest.json").write_text("{")
    outcome = slowdust("site", "pages")
    assert outcome.complaint == "slowdust: cannot read slap"
    assert outcome.out.splitlines()[0] == "3 pages written, 2 unchanged, 1 removed"


def test_serve_shows_pages_until_it_is_interrupted(results: Path) -> None:
    # What a shell's script starts in the background ignores SIGINT, these tests for example.
    heeding = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    program = f"{heeding}; from slowdust.cli.main import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", program, "serve", "--port", "0", "--results", str(results)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == f"reading 3 experiments of {results}\n"
        url = server.stdout.readline().split()[3].rstrip(",")
        with urllib.request.urlopen(url) as page:
            assert "3 experiments, the newest first" in page.read().decode()
        server.send_signal(signal.SIGINT)
        try:
            out, err = server.communicate(timeout=30)
        finally:
            server.kill()
    assert (server.returncode, out, err) == (0, "\nended\n", "")


def test_serve_refuses_a_port_in_use(slowdust: Slowdust) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        outcome = slowdust("serve", "--port", port)
    assert outcome.code == 2
    assert outcome.complaint == f"slowdust: port {port} is in use: choose another --port"
