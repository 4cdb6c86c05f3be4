"""The commands of README, docs and of the workflow in docs/ci.md parse."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
import yaml

from slowdust.cli.main import cli

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "ci.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


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


def shown(page: Path) -> list[str]:
    """Return the commands in indented blocks, without comments, pipes and what they print."""
    text = page.read_text().replace("\\\n", " ")
    found = re.findall(r"^ {4,}(?:\$ )?(slowdust \S+ .+)$", text, re.MULTILINE)
    calls = [re.split(r" {3,}| +[#|>]|;", call)[0] for call in found]
    return [call for call in calls if "[" not in call and "..." not in call]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_of_the_page_parse(page: Path) -> None:
    for call in shown(page):
        command: click.Command = cli
        context = click.Context(cli)
        words = shlex.split(re.sub(r" --results \S+", "", call))[1:]
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            named = command.get_command(context, words.pop(0))
            assert named is not None, call
            command, context = named, click.Context(named, parent=context)
        try:
            command.make_context(command.name, words)
        except click.BadParameter as error:
            path_that_is_not_here = error.param is not None and isinstance(
                error.param.type, click.Path
            )
            assert path_that_is_not_here, call
