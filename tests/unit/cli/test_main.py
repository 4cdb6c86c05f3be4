"""The command line as a whole: its commands, their help, and what becomes of errors."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import click
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust import __version__
from slowdust.benchmarks import BENCHMARKS, DEFAULT, NAMES
from slowdust.builds.recipe import DEFAULT_FLAGS, FLAG_SETS
from slowdust.cli.commands import command, declared, load
from slowdust.cli.main import cli
from slowdust.errors import SlowdustError, UsageError
from slowdust.wording import listing
from tests.unit.cli.command import Slowdust

COMMANDS = [
    *("compare", "run", "more", "bisect", "blame", "watch", "ack", "capacity", "calibrate"),
    *("fleet", "import", "report", "explain", "history", "list", "show", "tests", "workloads"),
    "builds",
]


def every_command() -> Iterator[tuple[str, click.Command]]:
    """Yield the words that call each command, with the commands of groups."""
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            for below in command.list_commands(context):
                subcommand = command.get_command(context, below)
                assert subcommand is not None
                yield f"{name} {below}", subcommand


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_lists_all_commands_in_the_order_of_their_use(
    slowdust: Slowdust, option: str, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust(option)
    assert outcome.code == 0
    lines = outcome.out.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in lines if line][: len(COMMANDS)] == COMMANDS
    assert outcome.out == snapshot


def test_without_a_command_it_shows_the_help_and_fails(slowdust: Slowdust) -> None:
    outcome = slowdust()
    assert outcome.code == 2
    assert "Commands:" in outcome.err


def test_version(slowdust: Slowdust) -> None:
    assert slowdust("--version") == (0, f"slowdust, version {__version__}\n", "")


def test_unknown_command_is_wrong_use(slowdust: Slowdust, snapshot: SnapshotAssertion) -> None:
    outcome = slowdust("reprot")
    assert outcome.code == 2
    assert outcome.err == snapshot
    assert outcome.out == ""


@pytest.mark.parametrize("group", ["", "import", "builds"])
def test_no_summary_of_a_command_is_cut(slowdust: Slowdust, group: str) -> None:
    printed = slowdust(*group.split(), "--help").out
    assert "..." not in printed.partition("Commands:")[2].replace("o.ib ...", "")


def test_there_are_commands_in_groups() -> None:
    assert {"import sysbench", "import iibench", "builds get"} <= dict(every_command()).keys()


@pytest.mark.parametrize(("name", "command"), list(every_command()))
def test_help_of_every_command_explains_its_options(
    slowdust: Slowdust, name: str, command: click.Command
) -> None:
    outcome = slowdust(*name.split(), "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(f"Usage: slowdust {name} ")
    first_line = (command.help or "").splitlines()[0]
    assert first_line.split()[0] in outcome.out
    assert first_line.endswith("."), "the first line of the help is a whole sentence"
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.opts[0] in outcome.out
            assert parameter.help, f"{parameter.opts[0]} is not explained"


def test_help_imports_nothing_that_carries_out_a_command() -> None:
    program = (
        "import sys; from slowdust.cli.main import cli\n"
        "for words in sys.argv[1:]:\n"
        "    cli([*words.split(), '--help'], standalone_mode=False)\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    commands = [name for name, _ in every_command()]
    done = subprocess.run(
        [sys.executable, "-c", program, *commands], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("Usage: ") == len(commands)
    imported = {name.split(".")[0] for name in done.stderr.split()}
    assert not imported & {"jinja2", "msgspec", "numpy", "pydantic", "ray", "rich", "scipy"}
    packages = {name.split(".")[1] for name in done.stderr.split() if name.startswith("slowdust.")}
    assert not packages & {"analysis", "benchmarks", "experiment", "instances", "store", "studies"}


def test_help_names_all_benchmarks_and_sets_of_flags(slowdust: Slowdust) -> None:
    text = " ".join(slowdust("compare", "--help").out.split())
    assert f"{listing(tuple(BENCHMARKS), 'or')}. [{DEFAULT.name}]" in text
    assert f"{', '.join(FLAG_SETS)}. [{DEFAULT_FLAGS}]" in text
    for benchmark in BENCHMARKS.values():
        for option in benchmark.options:
            assert f"{benchmark.name}: {' '.join(option.help.split())}" in text
    assert f"Only this benchmark: {', '.join(NAMES)}." in " ".join(
        slowdust("history", "--help").out.split()
    )


def test_each_command_gives_what_its_function_takes() -> None:
    for words, table in declared().items():
        if "does" in table:
            shown = command(words)
            given = {each.name or "" for each in shown.params if each.expose_value}
            given |= set() if all(each.expose_value for each in shown.params) else {"form"}
            inspect.signature(load(table["does"])).bind(
                **dict.fromkeys(given), **table.get("given", {})
            )


@pytest.mark.parametrize("command", ["compare", "run", "more", "report"])
def test_help_explains_its_words(slowdust: Slowdust, command: str) -> None:
    words = " ".join(slowdust(command, "--help").out.partition("Words: ")[2].split())
    for term in ("contender is", "slices, short", "An incarnation is", "rqps is"):
        assert term in words


def end_by(number: signal.Signals) -> Callable[..., object]:
    """Return a function that gets the signal while it runs."""

    def run(*_: object) -> None:
        os.kill(os.getpid(), number)

    return run


def fail_with(error: BaseException) -> Callable[..., object]:
    """Return a function that raises the error."""

    def run(*_: object) -> None:
        raise error

    return run


@pytest.mark.parametrize(
    ("failure", "code", "complaint"),
    [
        (fail_with(UsageError("write it so")), 2, "slowdust: write it so"),
        (fail_with(SlowdustError("the server is gone")), 1, "slowdust: the server is gone"),
        (
            fail_with(OSError(28, "No space left on device")),
            1,
            "(free some space there, and start again)",
        ),
        (fail_with(KeyboardInterrupt()), 1, "slowdust: stopped"),
        (end_by(signal.SIGTERM), 1, "slowdust: stopped by SIGTERM"),
        (end_by(signal.SIGHUP), 1, "slowdust: stopped by SIGHUP"),
    ],
)
def test_failures_end_with_one_line_and_their_code(
    slowdust: Slowdust,
    monkeypatch: pytest.MonkeyPatch,
    failure: Callable[..., object],
    code: int,
    complaint: str,
) -> None:
    monkeypatch.setattr("slowdust.cli.results.experiments", failure)
    outcome = slowdust("list")
    assert (outcome.code, outcome.out) == (code, "")
    assert outcome.complaint.endswith(complaint)
    assert outcome.err.strip() == outcome.complaint, "there is nothing but that line"


def test_unexpected_errors_keep_their_traceback(
    slowdust: Slowdust, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slowdust.cli.results.experiments", fail_with(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        slowdust("list")
