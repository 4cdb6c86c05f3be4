"""Every kind of bad input ends with one clear line and exit code 2."""

import os
from pathlib import Path

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.store.folder import Folder, writing
from slowdust.store.measured import PRINTED_SCHEMA
from tests.unit.cli.command import Slowdust, spoken
from tests.unit.synthetic import synthetic_experiment


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["compare", "oracle@23"], "oracle"),
        (["compare", "postgres@99.9"], "99.9"),
        (["compare", "postgres"], "postgres"),
        (["compare", "postgres@17.6", "--tests", "no-such-test"], "no-such-test"),
        (["compare", "postgres@17.6", "--clients", "0"], "--clients"),
        (["compare", "postgres@17.6", "--budget", "banana"], "banana"),
        (["compare", "./empty"], "empty"),
        (["compare", "postgres@17.6", "--set", "fsync"], "KEY=VALUE"),
        (["compare", "postgres@17.6", "--incarnations", 20 * "9"], "10,000"),
        (["compare", "postgres@17.6", "--slice", "1000h"], "3,600"),
        (["compare", "postgres@17.6", "--budget", "99999999h"], "31,536,000"),
        (["compare", "postgres@17.6", "--rows", "5e9"], "4,294,967,295"),
        (["compare", "postgres@17.6", "--rate", "1e300"], "10,000,000"),
        (["compare", "postgres@17.6", "--repo", "~nobody-at-all/x"], "'nobody-at-all'"),
        (["run", "~nobody-at-all/x.toml"], "'nobody-at-all'"),
        (["report", "~nobody-at-all/x"], "'nobody-at-all'"),
        (["run", "deep.toml"], "deep.toml"),
        (["run", "latin.toml"], "latin.toml"),
        (["run", "pipe"], "pipe"),
        (["run", "/dev/full"], "/dev/full"),
        (["import", "bundle", "pipe"], "pipe"),
        (["run", "missing.toml"], "missing.toml"),
        (["report", "missing"], "missing"),
        (["report"], "results"),
        (["show", "missing"], "missing"),
    ],
    ids=spoken,
)
def test_bad_input_gives_one_line(
    slowdust: Slowdust,
    tmp_path: Path,
    arguments: list[str],
    named: str,
    snapshot: SnapshotAssertion,
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "deep.toml").write_text(f"a = {'[' * 5000}{']' * 5000}", encoding="utf-8")
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"')
    os.mkfifo(tmp_path / "pipe")
    outcome = slowdust(*arguments)
    assert outcome.code == 2
    assert named in outcome.complaint
    assert outcome.complaint == snapshot
    assert outcome.err.splitlines()[-1] == outcome.complaint
    assert not (tmp_path / "results").exists()


def test_unknown_options_are_wrong_use(slowdust: Slowdust) -> None:
    outcome = slowdust("compare", "postgres@17.6", "--bugdet", "3m")
    assert outcome.code == 2
    assert "--bugdet" in outcome.err.splitlines()[-1]


def test_a_running_experiments_name_is_taken(
    slowdust: Slowdust, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    from slowdust.experiment import local_lab as run_module

    monkeypatch.setattr(run_module, "resolve_contenders", lambda spec, view: [])
    with writing(Folder(tmp_path / "results" / "mine")):
        outcome = slowdust("compare", "postgres@17.6", "--name", "mine")
    assert outcome.code == 2
    assert "'mine'" in outcome.complaint
    assert outcome.complaint == snapshot


def test_results_of_a_newer_schema_are_refused(slowdust: Slowdust, tmp_path: Path) -> None:
    manifest, _ = synthetic_experiment(["a", "b"], ["point-query"])
    with writing(Folder(tmp_path / "results" / "new")) as writer:
        writer.write_manifest(msgspec.structs.replace(manifest, schema=PRINTED_SCHEMA + 1))
    for arguments in (["report", "new"], ["compare", "postgres@17.6", "--name", "new"]):
        outcome = slowdust(*arguments)
        assert outcome.code == 2
        assert f"schema {PRINTED_SCHEMA + 1}" in outcome.complaint
