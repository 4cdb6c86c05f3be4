"""Commands that reports advise run as printed and measure the same work."""

from __future__ import annotations

import json
import re
import shlex
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from slowdust.analysis import advised
from tests.integration.slowdust_command import Workplace
from tests.tiers.selection import full

OLD, NEW = "sqlite@3.25.2", "sqlite@3.26.0"
"""Releases that follow each other, so that a search between them has one answer."""
WORKLOAD = """
name = "books"
[tables.books]
rows = 500
primary_key = "id"
columns.id = { type = "int", by = "serial" }
columns.shelf = { type = "int", by = "uniform", low = 1, high = 50 }
[statements.shelf]
sql = "SELECT shelf FROM books WHERE id = :id"
parameters.id = { of = "books.id" }
[statements.move]
sql = "UPDATE books SET shelf = 1 WHERE id = :id"
parameters.id = { of = "books.id" }
[tests.look]
group = "point"
statements = ["shelf"]
[tests.move]
statements = ["move"]
"""
SHORT = ("--budget", "1s", "--incarnations", "2", "--slice", "25ms")
SHORTEST = ("--budget", "1s", "--incarnations", "1", "--slice", "25ms")
QUOTED = re.compile(r"`(slowdust [^`]+)`")


pytestmark = pytest.mark.builds(OLD, NEW)


def folder_of(workplace: Workplace) -> Path:
    """An experiment of a user's own workload in another folder of results than the usual one."""
    (workplace.folder / "books.toml").write_text(WORKLOAD)
    options = ("--workload", "books.toml", "--set", "cache_size=-4000", "--seed", "3")
    place = ("--results", "elsewhere and far", "--name", "books", "--count", "off")
    workplace.run("compare", OLD, NEW, *options, *place, *SHORT)
    return workplace.folder / "elsewhere and far" / "books"


def slow_down(folder: Path, contender: str) -> None:
    """Divide the operations in the stored slices of a contender by three."""
    lines = []
    for line in (folder / "slices.ndjson").read_text().splitlines():
        record = json.loads(line)
        if record["place"]["contender"] == contender:
            record["qps"] /= 3
            record["measured"]["operations"] //= 3
        lines.append(json.dumps(record))
    (folder / "slices.ndjson").write_text("\n".join(lines) + "\n")


def explained(workplace: Workplace, folder: Path, test: str) -> list[str]:
    """The commands that `slowdust explain` advises for a test."""
    text = workplace.run("explain", str(folder), test, "--json")
    return [
        absent["command"]
        for one in json.loads(text)["explained"]
        for absent in one["absent"]
        if "command" in absent
    ]


def advised_by(workplace: Workplace, folder: Path) -> list[str]:
    """The commands that the report and the explanations of an experiment advise."""
    report = workplace.run("report", str(folder), "--md")
    found = QUOTED.findall(report)
    return [*found, *explained(workplace, folder, "look"), *explained(workplace, folder, "move")]


@pytest.mark.parametrize(
    ("kinds", "most"),
    [
        (("compare", "more"), 2),
        pytest.param(("compare",), None, marks=full),
        pytest.param(("bisect",), None, marks=full),
    ],
)
def test_each_command_measures_the_same_work(
    workplace: Workplace, kinds: tuple[str, ...], most: int | None
) -> None:
    folder = folder_of(workplace)
    before = read_manifest(folder)
    slow_down(folder, NEW)
    commands = advised_by(workplace, folder)
    relative = folder.relative_to(workplace.folder)
    commands.append(advised.more(str(relative), ["look"], 1.0))
    by_kind: dict[str, list[str]] = defaultdict(list)
    for command in dict.fromkeys(commands):
        by_kind[shlex.split(command)[1]].append(command)
    assert by_kind["compare"]
    assert by_kind["bisect"], commands
    assert any(":durable" in command for command in by_kind["compare"]), commands
    chosen = {kind: by_kind[kind] if kind in kinds else [] for kind in by_kind}

    # Each test has the same commands: one of each kind is run, those that count at last.
    compares = {options_of(each): each for each in chosen["compare"]}.values()
    for number, command in enumerate(sorted(compares, key=lambda c: "--count" in c)[:most]):
        _, *arguments = shlex.split(command)
        uncounted = () if "--count" in arguments else ("--count", "off")
        workplace.run(*arguments, "--name", f"again-{number}", *SHORTEST, *uncounted)
        again = workplace.manifest(f"again-{number}")
        for key in ("workload", "clients", "work_options"):
            assert again[key] == before[key], command
        assert again["method"]["seed"] == before["method"]["seed"]
        assert [own["settings"].get("cache_size") for own in again["contenders"]] == ["-4000"] * 2
    for command in chosen["bisect"][:1]:
        _, *arguments = shlex.split(command)
        workplace.run(*arguments, "--budget", "2s", "--metric", "time", "--name", "searched")
    for command in chosen["more"]:
        _, *arguments = shlex.split(command)
        workplace.run(*arguments, "--budget", "1s", "--yes")


@full
def test_a_stopped_experiment_is_finished_by_the_command_that_is_advised(
    workplace: Workplace,
) -> None:
    folder = folder_of(workplace)
    manifest = read_manifest(folder)
    del manifest["finished"]
    (folder / "manifest.json").write_text(json.dumps(manifest))

    [resume] = {each for each in advised_by(workplace, folder) if "--resume" in each}
    _, *arguments = shlex.split(resume)
    workplace.run(*arguments)

    assert "finished" in read_manifest(folder)


def options_of(command: str) -> frozenset[str]:
    """Return the options of a command without their values."""
    return frozenset(word for word in shlex.split(command) if word.startswith("--"))


def read_manifest(folder: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return manifest
