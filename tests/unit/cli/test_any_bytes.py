"""Arguments, variables, paths and files that are not UTF-8: success, or one line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from tests.unit.cli.any_input import FEW, check
from tests.unit.cli.command import Slowdust

pytestmark = pytest.mark.usefixtures("no_hang")

WRONG = os.fsdecode(b"a\xffb")
_COMMANDS: Sequence[Sequence[str]] = (
    ("compare", "BYTES"),
    ("compare", "nothing@1", "--name", "BYTES"),
    ("compare", "nothing@1", "--set", "BYTES"),
    ("compare", "nothing@1", "--repo", "BYTES"),
    ("compare", "nothing@1", "--BYTES"),
    ("compare", "postgres@git:BYTES", "--repo", "."),
    ("compare", "./BYTES", "./BYTES"),
    ("compare", "postgres://BYTES@127.0.0.1:1/x"),
    ("workloads", "from", "BYTES", "-o", "made.toml"),
    ("workloads", "from", "postgres://ann@127.0.0.1:1/BYTES", "-o", "made.toml"),
    ("workloads", "check", "BYTES"),
    ("run", "BYTES", "--yes"),
    ("report", "BYTES"),
    ("report", "micro", "--html", "BYTES.html"),
    ("report", "micro", "--classic", "BYTES"),
    ("report", "micro", "--group", "BYTES"),
    ("show", "BYTES"),
    ("list", "BYTES"),
    ("list", "--results", "BYTES"),
    ("explain", "micro", "BYTES"),
    ("history", "--host", "BYTES"),
    ("diff", "BYTES", "slap"),
    ("note", "micro", "BYTES"),
    ("note", "micro", "--tag", "BYTES"),
    ("note", "BYTES", "x"),
    ("rename", "micro", "BYTES"),
    ("remove", "BYTES"),
    ("bundle", "micro", "-o", "BYTES"),
    ("import", "sysbench", "BYTES"),
    ("import", "bundle", "BYTES"),
    ("merge", "BYTES", "results", "--name", "BYTES"),
    ("site", "BYTES"),
    ("watch", "BYTES"),
    ("ack", "BYTES", "BYTES", "--note", "BYTES"),
    ("bisect", "postgres@15..16", "--test", "BYTES"),
    ("capacity", "nothing@1", "--sla", "BYTES"),
    ("tests", "--workload", "BYTES"),
    ("builds", "add", "BYTES", "BYTES"),
    ("builds", "get", "BYTES"),
    ("builds", "get", "mysql@8.0.40", "--from", "BYTES"),
    ("builds", "remove", "BYTES"),
    ("BYTES",),
)


@pytest.mark.usefixtures("results")
@pytest.mark.parametrize("command", _COMMANDS, ids=" ".join)
def test_bytes_of_an_argument(slowdust: Slowdust, command: Sequence[str]) -> None:
    outcome = check(slowdust, *(word.replace("BYTES", WRONG) for word in command))
    complaints = [line for line in outcome.err.splitlines() if line.startswith("slowdust:")]
    assert len(complaints) <= 1, outcome
    assert "udc" not in outcome.out + outcome.err, "each byte is shown as \\xff"


@pytest.mark.usefixtures("results")
@FEW
@given(st.binary(min_size=1, max_size=20).filter(lambda content: b"\0" not in content))
def test_a_note_of_any_bytes(slowdust: Slowdust, content: bytes) -> None:
    outcome = check(slowdust, "note", "micro", "--", os.fsdecode(content))
    try:
        content.decode()
    except UnicodeDecodeError:
        assert outcome.code == 2
        assert "UTF-8" in outcome.err
    else:
        assert outcome.code == 0


@pytest.mark.parametrize(
    ("locale", "command"),
    [("C.UTF-8", ["note", "micro", "BYTES"]), ("POSIX", ["run", "BYTES"])],
)
def test_a_process_gets_bytes(results: Path, locale: str, command: Sequence[str]) -> None:
    code = "from slowdust.cli.main import main; main()"
    words = [word.encode().replace(b"BYTES", b"a\xffb") for word in command]
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env=os.environ | {"LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        cwd=results.parent,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith(b"slowdust: ")
    assert rb"a\xffb" in done.stderr, "it names what is wrong"


def test_a_working_directory_of_any_bytes(
    slowdust: Slowdust, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = results.parent / WRONG
    results.rename(results.parent / "kept")
    folder.mkdir()
    (results.parent / "kept").rename(folder / "results")
    monkeypatch.chdir(folder)
    for command in (
        ("report", "micro", "--html", "page.html"),
        ("report", "micro", "--json"),
        ("list",),
        ("show", "micro"),
        ("site", "pages"),
        ("bundle", "micro", "-o", "micro.slowdust"),
        ("compare", "./a", "./b"),
        ("workloads", "check", "none.toml"),
        ("watch", "none.toml"),
    ):
        check(slowdust, *command)


@pytest.mark.parametrize(
    ("variable", "url"),
    [
        ("PGPASSWORD", "postgres://ann@127.0.0.1:1/x"),
        ("MYSQL_PWD", "mysql://ann@127.0.0.1:1/x"),
        ("MYSQL_PWD", "mariadb://ann@127.0.0.1:1/x"),
    ],
)
def test_a_password_in_a_variable(
    slowdust: Slowdust,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    url: str,
    snapshot: SnapshotAssertion,
) -> None:
    monkeypatch.setenv(variable, os.fsdecode(b"pencil\xff"))
    outcome = check(slowdust, "workloads", "from", url, "-o", "made.toml")
    assert outcome.code == 2
    assert outcome.complaint == snapshot


@pytest.mark.parametrize(
    "variable",
    ["SLOWDUST_RESULTS", "SLOWDUST_CACHE", "SLOWDUST_DATA", "HOME", "PGPASSFILE", "USER"],
)
def test_other_variables(
    slowdust: Slowdust, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / WRONG))
    for command in (("list",), ("builds", "list"), ("compare", "postgres@99.99")):
        check(slowdust, *command)
    check(slowdust, "workloads", "from", "postgres://127.0.0.1:1/x", "-o", "made.toml")


@pytest.mark.parametrize(
    ("name", "content", "url"),
    [
        (".pgpass", b"*:*:*:*:pencil\xff\n", "postgres://ann@127.0.0.1:1/x"),
        (".my.cnf", b"[client]\npassword=pencil\xff\n", "mysql://ann@127.0.0.1:1/x"),
    ],
)
def test_a_file_with_passwords(
    slowdust: Slowdust,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: bytes,
    url: str,
    *,
    snapshot: SnapshotAssertion,
) -> None:
    file = Path.cwd() / name
    monkeypatch.setenv("HOME", str(file.parent))
    for variable in ("PGPASSWORD", "MYSQL_PWD", "PGPASSFILE"):
        monkeypatch.delenv(variable, raising=False)
    file.write_bytes(content)
    file.chmod(0o600)
    outcome = check(slowdust, "workloads", "from", url, "-o", "made.toml")
    assert outcome.code == 2
    assert outcome.complaint == snapshot


@pytest.mark.parametrize("name", ["a.toml", "catalog/postgres.toml"])
def test_a_file_of_the_users(slowdust: Slowdust, tmp_path: Path, name: str) -> None:
    place = tmp_path / "data" / name if "/" in name else tmp_path / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(b"# \xff\n")
    for command in (
        ("run", "a.toml"),
        ("watch", "a.toml"),
        ("workloads", "check", "a.toml"),
        ("tests", "--workload", "a.toml"),
        ("compare", "postgres@99.99:a.toml"),
        ("builds", "list", "--all"),
    ):
        outcome = check(slowdust, *command)
        if "a.toml" in command[-1] and "/" not in name:
            assert outcome.code == 2
