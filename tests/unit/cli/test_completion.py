"""Completion in shells, by click's own completion and by a real bash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete, get_completion_class

from slowdust.cli.completion import WholeWords
from slowdust.cli.main import cli


@pytest.fixture
def shell(tmp_path: Path, results: Path, monkeypatch: pytest.MonkeyPatch) -> ShellComplete:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLOWDUST_RESULTS", raising=False)
    monkeypatch.setenv("SLOWDUST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SLOWDUST_DATA", str(tmp_path / "data"))
    return ShellComplete(cli, {}, "slowdust", "_SLOWDUST_COMPLETE")


def completed(shell: ShellComplete, *words: str) -> list[str]:
    return [item.value for item in shell.get_completions([*words[:-1]], words[-1])]


def test_commands(shell: ShellComplete) -> None:
    assert completed(shell, "re") == ["report", "rename", "remove"]


@pytest.mark.parametrize(
    "command", ["report", "show", "note", "rename", "remove", "bundle", "diff", "history"]
)
def test_experiments_newest_first(shell: ShellComplete, command: str) -> None:
    assert completed(shell, command, "") == ["slap", "insert", "micro"]
    assert completed(shell, command, "m") == ["micro"]


def test_experiments_of_the_folder_on_the_line(shell: ShellComplete, results: Path) -> None:
    results.rename(results.with_name("elsewhere"))
    assert completed(shell, "show", "") == []
    assert completed(shell, "show", "--results", "elsewhere", "s") == ["slap"]


def test_an_experiment_is_named_once(shell: ShellComplete) -> None:
    assert completed(shell, "remove", "slap", "") == ["insert", "micro"]


def test_blame_has_builds_or_what_is_stored(shell: ShellComplete) -> None:
    assert completed(shell, "blame", "--from", "") == ["slap", "insert", "micro"]
    assert completed(shell, "blame", "--from", "slap", "m") == ["micro"]
    assert completed(shell, "blame", "mysql@9.7") == ["mysql@9.7.4"]


def test_builds(shell: ShellComplete) -> None:
    assert completed(shell, "compare", "postgres@17.6", "mysql@9.7") == ["mysql@9.7.4"]
    assert {"postgres@15.8", "mysql@9.7.4"} <= set(completed(shell, "compare", ""))
    assert "postgres@15.8" in completed(shell, "builds", "get", "post")
    [item] = shell.get_completions(["compare"], "./my")
    assert (item.type, item.value) == ("dir", "./my")


def test_tests_and_benchmarks(shell: ShellComplete) -> None:
    lists = completed(shell, "compare", "--tests", "scan,update-in")
    assert lists == ["scan,update-inlist", "scan,update-index"]
    assert completed(shell, "compare", "--benchmark", "insert", "--tests", "l.i") == [
        *("l.i0", "l.i1", "l.i2")
    ]
    assert completed(shell, "history", "--benchmark", "mi") == ["micro"]
    assert completed(shell, "tests", "--benchmark", "sl") == ["slap"]


@pytest.mark.parametrize("name", ["zsh", "fish"])
def test_other_shells_get_clicks_source(name: str) -> None:
    kind = get_completion_class(name)
    assert kind is not None
    assert "_SLOWDUST_COMPLETE" in kind(cli, {}, "slowdust", "_SLOWDUST_COMPLETE").source()


_BASH = """
eval "$(_SLOWDUST_COMPLETE=bash_source slowdust)"
COMP_LINE=$1 COMP_POINT=${#1}
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_slowdust_completion slowdust
printf '%s\\n' "${COMPREPLY[@]}"
"""
"""A bash that has broken the line into words, as it does before it calls a completion."""


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("line", "words", "expected"),
    [
        ("slowdust show mi", ["show", "mi"], ["micro"]),
        ("slowdust compare mysql@9.7", ["compare", "mysql", "@9.7"], ["@9.7.4"]),
        ("slowdust compare mysql@9.7", ["compare", "mysql", "@", "9.7"], ["@9.7.4"]),
        ("slowdust remove slap ", ["remove", "slap", ""], ["insert", "micro"]),
    ],
)
def test_bash_keeps_builds_in_one_piece(
    shell: ShellComplete, tmp_path: Path, line: str, words: list[str], expected: list[str]
) -> None:
    program = tmp_path / "bin/slowdust"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.argv[0] = 'slowdust'\n"
        "from slowdust.cli.main import main\nmain()\n"
    )
    program.chmod(0o755)
    ran = subprocess.run(
        ["bash", "--norc", "-c", _BASH, "bash", line, "slowdust", *words],
        env=os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == expected, ran.stderr


def test_an_open_quote_is_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = WholeWords(cli, {}, "slowdust", "_SLOWDUST_COMPLETE")
    monkeypatch.setenv("COMP_WORDS", "slowdust compare --tests 'scan,upd")
    assert shell.get_completion_args() == (["compare", "--tests"], "scan,upd")
