"""Hooks get an event once; a hook that fails gets it again in the next night."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.studies.candidates import Candidate
from slowdust.studies.watch import words
from slowdust.studies.watch.alarms import Channel, Delivery, Event
from slowdust.studies.watch.file import Watch
from slowdust.studies.watch.hooks import deliver
from slowdust.studies.watch.subjects import bisect_command
from tests.unit.studies.watch.synthetic_watch import RELEASES, a_watch, judged, nights_of

EVENT = Delivery(event=Event.REGRESSION, night=6, changes=[1], pending=[Channel.COMMAND])
POSTED = Delivery(event=Event.REGRESSION, night=6, changes=[1], pending=[Channel.WEBHOOK])


class Told:
    """The events that hooks got in the sixth night, and the warnings."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.warnings: list[str] = []

    def __call__(self, *deliveries: Delivery, time_limit: float = 60.0) -> list[Delivery]:
        nights = nights_of([0, 0, 0, 0, 0, 0.03])
        state = judged(nights)
        return deliver(
            deliveries,
            self.watch,
            lambda delivery: words.payload("w", delivery, state, nights),
            self.warnings.append,
            time_limit,
        )


def test_a_command_reads_json_in_the_folder_of_the_file(tmp_path: Path) -> None:
    told = Told(a_watch(tmp_path, RELEASES + "on_regression = 'tee \"an event.json\"'\n"))
    assert told(EVENT) == []
    event = json.loads((tmp_path / "an event.json").read_text())
    assert (event["event"], event["watch"], event["id"]) == ("regression", "w", "w-6-regression")
    (change,) = event["changes"]
    assert change["test"] == "scan"
    assert change["ratio"] == pytest.approx(1.03, abs=0.001)
    assert change["subject"] == "postgres@6.0"
    assert "scan got slower" in event["text"]
    assert told.warnings == []


def test_no_shell_reads_the_command(tmp_path: Path) -> None:
    told = Told(a_watch(tmp_path, RELEASES + "on_regression = 'tee a;b $HOME'\n"))
    told(EVENT)
    assert {path.name for path in tmp_path.iterdir()} >= {"a;b", "$HOME"}


@pytest.mark.parametrize(
    ("command", "value"),
    [
        ("false", "code 1"),
        ("ls no_such_file", "no_such_file"),
        ("no_such_program", "no_such_program"),
        ("sleep 30", "0.3s"),
    ],
)
def test_a_hook_that_fails_runs_again_in_the_next_night(
    tmp_path: Path, command: str, value: str
) -> None:
    told = Told(a_watch(tmp_path, RELEASES + f"on_regression = '{command}'\n"))
    assert told(EVENT, time_limit=0.3 if "sleep" in command else 60.0) == [EVENT]
    (warning,) = told.warnings
    assert value in warning
    assert "next night" in warning


def test_background_processes_of_a_hook_block_nothing(tmp_path: Path) -> None:
    told = Told(a_watch(tmp_path, RELEASES + "on_regression = \"sh -c 'sleep 20 & exit 0'\"\n"))
    begun = time.monotonic()
    assert told(EVENT) == []
    assert time.monotonic() - begun < 15
    escaped = "sh -c 'setsid sleep 20 & sleep 20'"
    told = Told(a_watch(tmp_path, RELEASES + f'on_regression = "{escaped}"\n'))
    assert told(EVENT, time_limit=0.3) == [EVENT]
    assert time.monotonic() - begun < 15


def test_a_command_that_bisects_runs_as_it_is_printed(tmp_path: Path) -> None:
    keys = "cpus = [0, 1]\n"
    change = judged(nights_of([0, 0, 0, 0, 0, 0.03])).changes[0]
    far = msgspec.structs.replace(
        change,
        before=Candidate(contender="postgres@15.1", name="15.1"),
        subject=Candidate(contender="postgres@15.5", name="15.5"),
    )
    command = bisect_command(a_watch(tmp_path, keys + RELEASES), far, lambda _: None)
    assert command == ("slowdust bisect postgres@15.1..15.5 --test scan --rows 1000 --cpus 0,1")
    assert (
        bisect_command(a_watch(tmp_path, 'pool = "64MB"\n' + RELEASES), far, lambda _: None) == ""
    )


def test_a_hook_that_left_the_file_gets_no_more_events(tmp_path: Path) -> None:
    assert Told(a_watch(tmp_path))(EVENT, POSTED) == []


@pytest.fixture
def address() -> Iterator[tuple[str, list[bytes]]]:
    """The address of a server, and the bodies that it is sent; /no refuses them.

    /who wants user and password, which it takes for the body.
    """
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            if self.path == "/who":
                bodies.append(
                    base64.b64decode(self.headers["Authorization"].removeprefix("Basic "))
                )
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(500 if self.path == "/no" else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", bodies
        server.shutdown()


def test_an_address_may_be_in_a_variable_and_is_never_printed(
    tmp_path: Path, address: tuple[str, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, bodies = address
    monkeypatch.setenv("WATCH_URL", f"{url}/secret")
    told = Told(a_watch(tmp_path, RELEASES + 'webhook = "$WATCH_URL"\n'))
    assert told(POSTED) == []
    assert json.loads(bodies[0])["event"] == "regression"

    monkeypatch.setenv("WATCH_URL", f"{url}/no")
    told = Told(a_watch(tmp_path, RELEASES + 'webhook = "$WATCH_URL"\n'))
    assert told(POSTED) == [POSTED]
    monkeypatch.setenv("WATCH_URL", "http://127.0.0.1:9/secret")
    told.watch = a_watch(tmp_path, RELEASES + 'webhook = "$WATCH_URL"\n')
    assert told(POSTED) == [POSTED]
    assert "the answer was 500" in told.warnings[0]
    assert not any("secret" in warning or "127.0.0.1" in warning for warning in told.warnings)


@pytest.mark.parametrize(
    ("user", "sent"),
    [
        ("ann:pencil", "ann:pencil"),
        ("ann", "ann:"),
        (":pencil", ":pencil"),
        ("ann:sec%2Fret%40%3A%C3%A9", "ann:sec/ret@:é"),
    ],
)
def test_user_and_password_of_an_address_are_sent(
    tmp_path: Path, address: tuple[str, list[bytes]], user: str, sent: str
) -> None:
    url, bodies = address
    webhook = url.replace("://", f"://{user}@") + "/who"
    told = Told(a_watch(tmp_path, RELEASES + f'webhook = "{webhook}"\n'))
    assert told(POSTED) == []
    assert bodies[0].decode() == sent
    assert "pencil" not in repr(told.watch)


@pytest.mark.parametrize(
    "command",
    [
        "sh -c 'exit 3' pencil",
        "no_such_program --token pencil",
        "TOKEN=pencil tee",
        "sh -c 'echo at https://ann:pencil@host/x >&2; exit 1'",
    ],
)
def test_arguments_of_a_hook_are_not_printed(
    tmp_path: Path, command: str, snapshot: SnapshotAssertion
) -> None:
    told = Told(a_watch(tmp_path, RELEASES + f'on_regression = "{command}"\n'))
    assert told(EVENT, time_limit=5.0) == [EVENT]
    (warning,) = told.warnings
    assert warning == snapshot
    assert "pencil" not in warning
