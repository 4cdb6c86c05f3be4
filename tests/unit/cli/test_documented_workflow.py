"""The workflow of docs/ci.md: it parses, and its commands have the options that they use."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import yaml

from slowdust.cli.main import cli

PAGE = Path(__file__).parents[3] / "docs" / "ci.md"


def commands() -> list[list[str]]:
    """Return the arguments of every `slowdust` command in the workflow."""
    [text] = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    workflow = yaml.safe_load(text)
    assert set(workflow) == {"name", True, "permissions", "jobs"}, "`on` is YAML 1.1's true"
    [job] = workflow["jobs"].values()
    lines = [line for step in job["steps"] for line in step.get("run", "").splitlines()]
    calls = [re.sub(r"\$\{\{.*?\}\}", "X", line) for line in lines if line.startswith("slowdust ")]
    return [shlex.split(call.partition(" > ")[0])[1:] for call in calls]


def test_its_commands_parse() -> None:
    called = commands()

    assert [words[0] for words in called] == ["compare", "report", "report"]
    for name, *words in called:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        context = command.make_context(name, words)
        assert not context.args
