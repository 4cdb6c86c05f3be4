"""Write `docs/reference.md` from the help of all commands: `python -m tests.reference`.

A unit test holds the page equal to the help; `make golden` renews it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
from click.testing import CliRunner

from slowdust.cli.main import cli

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "reference.md"
_WIDTH = 100
_HEAD = """\
# Reference

The help of all commands, as `slowdust COMMAND --help` prints it. `make golden` writes this page.

[experiments.md](experiments.md) has the keys of experiment files and how amounts are written;
[compatibility.md](compatibility.md) says what stays compatible between versions.

Exit codes: 0 done, 1 failed, 2 wrong use, 3 a gate, an alarm or `doctor` found something.
"""


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield the words that call each command and group, in the order of `slowdust --help`."""
    yield from _below(cli, "")


def _below(group: click.Group, before: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{before}{name}", command
        if isinstance(command, click.Group):
            yield from _below(command, f"{before}{name} ")


def page() -> str:
    """Return the page."""
    known = dict(commands())
    summaries = [
        f"- [`slowdust {words}`](#slowdust-{words.replace(' ', '-')}): {command.short_help}"
        for words, command in known.items()
    ]
    parts = [_HEAD, "\n".join([*summaries, "- [JSON](#json)"])]
    for words, command in known.items():
        options = [each.opts[0] for each in command.params if isinstance(each, click.Option)]
        helps = ["--help", *(each for each in options if each.startswith("--help-"))]
        parts.append(f"## slowdust {words}")
        parts += [f"```text\n{_printed(*words.split(), each)}```" for each in helps]
    parts.append("\n".join(_schemas()))
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _printed(*arguments: str) -> str:
    result = CliRunner().invoke(cli, arguments, prog_name="slowdust", terminal_width=_WIDTH)
    assert result.exit_code == 0, result.output
    return result.output


def _schemas() -> Iterator[str]:
    yield "## JSON\n"
    yield "| schema | content |"
    yield "| --- | --- |"
    for path in sorted(DOCS.glob("*.schema.json")):
        yield f"| [{path.name}]({path.name}) | {json.loads(path.read_text('utf-8'))['title']} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
