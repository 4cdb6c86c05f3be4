"""Running servers that refuse answers: retries and unknown facts."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from slowdust.dbms.access import Target
from slowdust.dbms.server_url import ServerUrl, parse_url
from slowdust.errors import SlowdustError
from slowdust.experiment import remote_server
from slowdust.experiment.driver.process import Driver, Patience, TargetError
from slowdust.experiment.driver.protocol import Failed, ResultSet
from slowdust.experiment.remote_server import RemoteServer
from slowdust.secret import Secret

URL = parse_url("mongodb://ann@127.0.0.1/bench")
REPLIES = {
    "buildInfo": {"version": "7.0.14"},
    "listCollections": {"cursor": {"id": 0, "firstBatch": []}},
    "serverStatus": {"storageEngine": {"name": "wiredTiger"}},
    "getCmdLineOpts": {"parsed": {"storage": {"syncPeriodSecs": 60}}},
}
UNAUTHORIZED, WRONG = "mongodb/13", "mongodb/18"


class Refusing(Driver):
    """A driver whose server refuses some commands, and connections without this password."""

    def __init__(self, refused: Sequence[str] = (), password: str | None = None) -> None:
        self._refused = refused
        self._password = None if password is None else Secret(password)
        self.patience = Patience()

    def sql(
        self,
        target: Target,
        statements: Sequence[str],
        parallel: int = 1,
        limit: float | None = None,
    ) -> list[ResultSet]:
        del parallel
        assert limit is not None and limit <= self.patience.operation
        if target.password is not None and target.password != self._password:
            raise TargetError(Failed(kind="connection", sqlstate=WRONG, message="wrong"))
        return [self._answer(target, next(iter(json.loads(each)))) for each in statements]

    def _answer(self, target: Target, command: str) -> ResultSet:
        unproven = target.password != self._password and command != "buildInfo"
        if command in self._refused or unproven:
            raise TargetError(Failed(kind="server", sqlstate=UNAUTHORIZED, message="refused"))
        return ResultSet(columns=["reply"], rows=[[json.dumps(REPLIES[command])]])


def connected(driver: Refusing) -> RemoteServer:
    return RemoteServer.connect(URL, None, driver)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The URLs whose password was asked for; the user answers 'right'."""
    urls: list[str] = []

    def ask(url: ServerUrl) -> Secret:
        urls.append(url.text)
        return Secret("right")

    monkeypatch.delenv("MONGODB_PASSWORD", raising=False)
    monkeypatch.setattr(remote_server, "ask_password", ask)
    return urls


def test_readable_counters_are_known(asked: list[str]) -> None:
    site = connected(Refusing()).site
    assert (site.engine, site.settings.values) == ("wiredtiger", {"storage.syncPeriodSecs": "60"})
    assert asked == []


def test_unreadable_counters_are_absent(asked: list[str]) -> None:
    site = connected(Refusing(["serverStatus", "getCmdLineOpts"])).site
    assert (site.version, site.engine, site.settings.values) == ("7.0.14", None, {})
    assert asked == []


def test_a_server_that_takes_no_unproven_user_has_the_password_asked_for(asked: list[str]) -> None:
    assert connected(Refusing(password="right")).site.version == "7.0.14"
    assert asked == [URL.text]


def test_a_wrong_password_is_asked_for_again(
    asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MONGODB_PASSWORD", "wrong")
    assert connected(Refusing(password="right")).site.version == "7.0.14"
    assert asked == [URL.text]


def test_a_user_who_lacks_a_right_is_not_asked_for_a_password(
    asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MONGODB_PASSWORD", "right")
    with pytest.raises(SlowdustError, match="refused"):
        connected(Refusing(["listCollections"], password="right"))
    assert asked == []
