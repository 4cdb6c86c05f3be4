"""The command line as a whole: its commands, their help and their errors."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
from collections.abc import Callable

import click
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust import __version__
from slowdust.benchmarks import BENCHMARKS, DEFAULT, NAMES
from slowdust.builds.recipe import DEFAULT_FLAGS, FLAG_SETS
from slowdust.cli.commands import command, declared, load
from slowdust.errors import SlowdustError, UsageError
from slowdust.store.measured import PRINTED_SCHEMA
from slowdust.store.slice import SCHEMA
from slowdust.wording import listing
from tests.reference import commands
from tests.unit.cli.command import Slowdust

LONGEST_HELP = 100
"""Two screens; tests have 80 columns."""
COMMANDS = [
    *("compare", "run", "more", "bisect", "blame", "watch", "ack", "capacity", "calibrate"),
    *("fleet", "import", "report", "explain", "history", "list", "show", "tests", "workloads"),
    "builds",
]


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
    code, out, err = slowdust("--version")
    assert (code, err) == (0, "")
    assert out == (
        f"slowdust {__version__} (stored files: writes schemas {SCHEMA} to {PRINTED_SCHEMA}, reads "
        f"1 to {PRINTED_SCHEMA})\n"
    )


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
    assert {"import sysbench", "import iibench", "builds get"} <= dict(commands()).keys()


@pytest.mark.parametrize(("name", "command"), list(commands()))
def test_help_of_every_command_explains_its_options(
    slowdust: Slowdust, name: str, command: click.Command
) -> None:
    outcome = slowdust(*name.split(), "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(f"Usage: slowdust {name} ")
    assert len(outcome.out.splitlines()) <= LONGEST_HELP
    first_line = (command.help or "").strip().splitlines()[0]
    assert first_line.split()[0] in outcome.out
    assert first_line.endswith("."), "the first line of the help is a whole sentence"
    options = [each for each in command.params if isinstance(each, click.Option)]
    more = [each.opts[0] for each in options if each.opts[0].startswith("--help-")]
    text = "".join([outcome.out, *(slowdust(*name.split(), each).out for each in more)])
    for option in options:
        assert option.opts[0] in text
        assert option.help, f"{option.opts[0]} is not explained"


def test_help_imports_nothing_that_carries_out_a_command() -> None:
    program = (
        "import sys; from slowdust.cli.main import cli\n"
        "for words in sys.argv[1:]:\n"
        "    cli([*words.split(), '--help'], standalone_mode=False)\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    names = [name for name, _ in commands()]
    done = subprocess.run(
        [sys.executable, "-c", program, *names], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("Usage: ") == len(names)
    imported = {name.split(".")[0] for name in done.stderr.split()}
    assert not imported & {"jinja2", "msgspec", "numpy", "pydantic", "ray", "rich", "scipy"}
    packages = {name.split(".")[1] for name in done.stderr.split() if name.startswith("slowdust.")}
    assert not packages & {"analysis", "benchmarks", "experiment", "instances", "store", "studies"}


def test_help_names_all_benchmarks_and_sets_of_flags(slowdust: Slowdust) -> None:
    text = " ".join(slowdust("compare", "--help").out.split())
    assert f"{listing(tuple(BENCHMARKS), 'or')}. [default: {DEFAULT.name}]" in text
    assert f"{', '.join(FLAG_SETS)}. [default: {DEFAULT_FLAGS}]" in text
    for benchmark in BENCHMARKS.values():
        if benchmark.options:
            # Lines are also broken after hyphens.
            own = "".join(slowdust("compare", f"--help-{benchmark.name}").out.split())
            assert all("".join(option.help.split()) in own for option in benchmark.options)
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
    for term in ("contender is", "A slice is", "An incarnation is", "rqps is"):
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
            "(free some space there, and try again)",
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
