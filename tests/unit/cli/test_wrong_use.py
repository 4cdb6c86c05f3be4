"""Every kind of bad input ends with one clear line and exit code 2."""

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from slowdust.cli.main import main
from slowdust.store.folder import Folder, writing
from slowdust.store.slice import SCHEMA
from tests.unit.synthetic import synthetic_experiment

Run = Callable[..., tuple[int, list[str]]]
"""Arguments of `slowdust` -> exit code and lines of standard error."""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, list[str]]:
        monkeypatch.setattr(sys, "argv", ["slowdust", *arguments])
        with pytest.raises(SystemExit) as exit_info:
            main()
        assert isinstance(exit_info.value.code, int)
        return exit_info.value.code, capsys.readouterr().err.strip().splitlines()

    return call


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["compare", "oracle@23"], "oracle"),
        (["compare", "postgres@99.9"], "99.9"),
        (["compare", "postgres"], "no contender"),
        (["compare", "postgres@17.6", "--tests", "no-such-test"], "no-such-test"),
        (["compare", "postgres@17.6", "--clients", "0"], "client"),
        (["compare", "postgres@17.6", "--budget", "banana"], "banana"),
        (["compare", "./empty"], "empty"),
        (["compare", "postgres@17.6", "--set", "fsync"], "KEY=VALUE"),
        (["run", "missing.toml"], "missing.toml"),
        (["report", "missing"], "missing"),
        (["report"], "no experiment"),
        (["show", "missing"], "missing"),
    ],
)
def test_bad_input_gives_one_line(
    run: Run, tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    (tmp_path / "empty").mkdir()
    code, lines = run(*arguments)
    assert code == 2
    assert len([line for line in lines if line.startswith("slowdust:")]) == 1
    assert complaint in lines[-1]
    assert not (tmp_path / "results").exists()


def test_unknown_options_are_wrong_use(run: Run) -> None:
    code, lines = run("compare", "postgres@17.6", "--bugdet", "3m")
    assert code == 2
    assert "--bugdet" in lines[-1]


def test_a_running_experiments_name_is_taken(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from slowdust.experiment import run as run_module

    monkeypatch.setattr(run_module, "resolve_contenders", lambda spec, view: [])
    with writing(Folder(tmp_path / "results" / "mine")):
        code, lines = run("compare", "postgres@17.6", "--name", "mine")
    assert code == 2
    assert "running now" in lines[-1]


def test_results_of_a_newer_schema_are_refused(run: Run, tmp_path: Path) -> None:
    manifest, _ = synthetic_experiment(["a", "b"], ["point-query"])
    with writing(Folder(tmp_path / "results" / "new")) as writer:
        writer.write_manifest(msgspec.structs.replace(manifest, schema=SCHEMA + 1))
    for arguments in (["report", "new"], ["compare", "postgres@17.6", "--name", "new"]):
        code, lines = run(*arguments)
        assert code == 2
        assert f"schema {SCHEMA + 1}" in lines[-1]
