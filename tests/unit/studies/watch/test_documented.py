"""systemd and GitHub can read the units and the workflow in docs/watch.md."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest
import yaml

from slowdust.cli.main import cli
from slowdust.studies.watch.file import read_watch

PAGE = (Path(__file__).parents[4] / "docs" / "watch.md").read_text()
UNITS = re.findall(r"```ini\n(.*?)```", PAGE, re.DOTALL)


def test_the_units_are_a_service_and_its_timer() -> None:
    service, timer = map(_parsed, UNITS)
    words = service["Service"]["ExecStart"].split()
    assert words[:3] == ["/usr/bin/env", "slowdust", "watch"]
    assert service["Service"]["SuccessExitStatus"] == "3"
    assert "OnCalendar" in timer["Timer"]


def _parsed(text: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return parser


def test_systemd_verifies_the_units(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    paths = [tmp_path / f"slowdust-watch.{kind}" for kind in ("service", "timer")]
    for path, text in zip(paths, UNITS, strict=True):
        path.write_text(text)
    command = [program, "verify", *map(str, paths)]
    outcome = subprocess.run(command, check=False, capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stderr


def test_the_commands_of_the_workflow_parse() -> None:
    [text] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    workflow = yaml.safe_load(text)
    assert workflow[True]["schedule"] == [{"cron": "30 1 * * *"}], "`on` is YAML 1.1's true"
    [job] = workflow["jobs"].values()
    runs = [step["run"] for step in job["steps"] if step.get("run", "").startswith("slowdust ")]
    assert len(runs) == 2
    for run in runs:
        _, name, *words = run.partition(" >> ")[0].split()
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        command.make_context(name, words)


def test_the_first_file_of_the_page_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERFORMANCE_WEBHOOK", "https://localhost/hook")
    text = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)[0]
    path = tmp_path / "postgres.toml"
    path.write_text(text)
    watch = read_watch(path)
    assert watch.table.name == "postgres"
    assert watch.spec("a", ["postgres@17.6", "postgres@git:master"]).rows == 100_000
