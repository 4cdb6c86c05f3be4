"""The password of any URL, typed or in a file, is neither printed nor stored."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.cli.any_input import FEW, check
from tests.unit.cli.command import Slowdust

pytestmark = pytest.mark.usefixtures("no_hang")

_SCHEMES = ("postgres", "postgresql", "mysql", "mariadb", "mongodb", "https", "http", "ssh", "x")
_FORMS = (
    "{scheme}://ann:{password}@db/x",
    "{scheme}://ann:{password}@db:5433/x?sslmode=require",
    "{scheme}://:{password}@db",
    "{scheme}://ann:5433/{password}@db/x",
    "{scheme}://ann:{password}/x@db",
    "{scheme}://ann:{password}?x@db#y@z",
    "{scheme}://ann@x:{password}@db/x",
    "{scheme}://ann@db/x?password={password}",
    "{scheme}://ann@db/x?sslmode=require&sslpassword={password}",
    "{scheme}://ann@db/x?sslmode=require&Token={password}",
    "{scheme}://ann@db/x?tlsCertificateKeyFilePassword={password}",
    "{scheme}://ann:{password}",
    "{scheme}://ann%3A{password}@db/x",
)
_SIGNS = "@:/?#&=%+'\"\\ ;,[]é"
_COMMANDS: Sequence[Sequence[str]] = (
    ("compare", "URL"),
    ("compare", "nothing@1", "URL", "--yes"),
    ("compare", "nothing@1", "--repo", "URL"),
    ("compare", "postgres@git:master", "--repo=URL"),
    ("compare", "nothing@1", "--budget", "URL"),
    ("compare", "nothing@1", "--workload", "URL"),
    ("compare", "nothing@1", "--name", "URL"),
    ("calibrate", "URL"),
    ("capacity", "URL", "--sla", "p99<5ms"),
    ("bisect", "postgres", "--repo", "URL", "--good", "a", "--bad", "b", "--test", "point-query"),
    ("bisect", "URL", "--test", "point-query"),
    ("blame", "URL"),
    ("builds", "get", "URL"),
    ("builds", "get", "mysql@8.0.40", "--from", "URL"),
    ("builds", "get", "postgres@git:master", "--repo", "URL"),
    ("builds", "add", "mine", "URL"),
    ("workloads", "from", "URL", "-o", "made.toml"),
    ("workloads", "from", "any.log", "--tables", "URL", "-o", "made.toml"),
    ("workloads", "check", "URL"),
    ("workloads", "check", "workload.toml", "--on", "URL"),
    ("run", "URL", "--yes"),
    ("run", "experiment.toml", "--fleet", "URL"),
    ("report", "URL"),
    ("report", "e", "--group", "URL"),
    ("show", "URL"),
    ("explain", "URL", "point-query"),
    ("history", "URL"),
    ("diff", "URL", "e"),
    ("rename", "e", "URL"),
    ("import", "sysbench", "URL"),
    ("import", "bundle", "URL"),
    ("watch", "URL"),
    ("list", "URL"),
    ("URL",),
    ("run", "experiment.toml", "--yes"),
    ("run", "of-repository.toml", "--yes"),
    ("run", "bare.toml", "--yes"),
    ("watch", "webhook.toml"),
    ("watch", "bare-webhook.toml"),
    ("watch", "base.toml"),
    ("watch", "repository.toml"),
)
_OF_RELEASES = '[watch]\nreleases = "postgres@15.0..15.9"\n'
_FILES = {
    "experiment.toml": 'contenders = [URL, "nothing@1"]\n',
    "of-repository.toml": 'contenders = ["postgres@git:master"]\nrepo = URL\n',
    "bare.toml": "contenders = BARE\n",
    "webhook.toml": f"{_OF_RELEASES}webhook = URL\n",
    "bare-webhook.toml": f"{_OF_RELEASES}webhook = BARE\n",
    "base.toml": f"{_OF_RELEASES}base = URL\n",
    "repository.toml": (
        '[watch]\nrepo = URL\ndbms = "postgres"\nref = "a"\nbase = "postgres@17.6"\n'
    ),
    "any.log": "query,calls\nSELECT 1,5\n",
    "workload.toml": 'rows = 1\n[statements.a]\nsql = "SELECT 1"\n',
}

_WORD = st.text("bcdfghjkmnpqrtvwxyz", min_size=9, max_size=9)


@st.composite
def _passwords(draw: st.DrawFn) -> tuple[str, list[str]]:
    """Draw a password, and the words in it that nothing else has."""
    words = draw(st.lists(_WORD, min_size=1, max_size=3))
    signs = draw(st.lists(st.sampled_from(_SIGNS), min_size=3, max_size=3))
    password = "".join(word + sign for word, sign in zip(words, signs, strict=False))
    return password.removesuffix(draw(st.sampled_from([password[-1], "\0"]))), words


@pytest.mark.parametrize("command", _COMMANDS, ids=" ".join)
def test_no_password_is_printed_or_stored(
    slowdust: Slowdust, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Sequence[str]
) -> None:
    monkeypatch.setenv("SLOWDUST_CLAIMS", str(tmp_path / "claims"))

    @FEW
    @given(form=st.sampled_from(_FORMS), scheme=st.sampled_from(_SCHEMES), password=_passwords())
    def tried(form: str, scheme: str, password: tuple[str, list[str]]) -> None:
        text, words = password
        url = form.format(scheme=scheme, password=text)
        for name, content in _FILES.items():
            written = content.replace("URL", json.dumps(url, ensure_ascii=False))
            Path(name).write_text(written.replace("BARE", url))
        outcome = check(slowdust, *(word.replace("URL", url) for word in command))
        for name in _FILES:
            Path(name).unlink()
        assert outcome.code in (1, 2), outcome
        printed = outcome.out + outcome.err
        assert not [word for word in words if word in printed], (url, printed)
        for path in tmp_path.rglob("*"):
            assert not [word for word in words if word in path.name], path
            stored = path.read_bytes() if path.is_file() else b""
            assert not [word for word in words if word.encode() in stored], path
        for path in tmp_path.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    tried()
