"""The waterfall in a terminal, and the parts of an explained result."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.explanation.one_result import Explained, explain_results
from slowdust.analysis.stored import Stored
from slowdust.report import console
from slowdust.report.explanation import ASCII, UNICODE, document, drawn, falling
from slowdust.store.manifest import HostFacts, MergedPart
from tests.unit.synthetic_parts import BASE, OTHER, TEST, Spent, parts_experiment


def test_a_bar_begins_where_the_one_above_ended() -> None:
    lines = drawn(falling([0.3, -0.1, 0.2]), 41, ASCII)
    ends = [(line.index("#") if "#" in line else line.index("="), len(line)) for line in lines]
    assert ends[0][1] == ends[1][1], "the second goes back from the end of the first"
    assert ends[1][0] == ends[2][0], "the third goes on from the end of the second"
    assert ends[3] == (ends[0][0], ends[2][1]), "the last is all of them"
    assert set(lines[1].strip("| ")) == {"="}


def test_the_level_of_the_base_is_in_every_line() -> None:
    lines = drawn(falling([-0.2, 0.05]), 30, UNICODE)
    assert len({line.rindex("│") for line in lines}) == 1


@pytest.mark.parametrize("changes", [[0.0], [1e-9, -1e-9], [0.001]])
def test_a_change_of_nothing_is_drawn_as_little(changes: list[float]) -> None:
    for line in drawn(falling(changes), 40, ASCII):
        assert line.count("#") + line.count("=") <= 3


def explained(base: Spent, other: Spent) -> Explained:
    stored = Stored(*parts_experiment({BASE: base, OTHER: other}))
    return explain_results(stored, TEST, None, None, None)


def printed(result: Explained, width: int = 100, encoding: str = "utf-8") -> str:
    bytes_ = io.BytesIO()
    file = io.TextIOWrapper(bytes_, encoding=encoding, errors="strict")
    terminal = Console(width=width, file=file, highlight=False, markup=False, emoji=False)
    console.print_on(terminal, document(result).blocks)
    file.flush()
    return bytes_.getvalue().decode(encoding)


@pytest.mark.parametrize("width", [60, 80, 110])
def test_the_part_that_makes_it_slower_is_named(width: int) -> None:
    text = printed(explained(Spent(), Spent(waiting=75.0)), width)
    [waiting] = [line for line in text.splitlines() if line.strip().startswith("waiting ")]
    assert " named " in waiting
    assert "█" in waiting
    assert max(map(len, text.splitlines()[:14])) <= width


def test_all_of_it_fits_a_narrow_terminal(snapshot: SnapshotAssertion) -> None:
    names = "mysql@9.7.4:cz12a_c8r32+jemalloc", "postgres@18.4:x10a_c32r128+jemalloc"
    spent = dict(zip(names, (Spent(), Spent(waiting=75.0)), strict=True))
    result = explain_results(Stored(*parts_experiment(spent)), TEST, None, None, None)
    narrow, wide = printed(result, 60).splitlines(), printed(result, 110).splitlines()
    assert max(map(len, narrow)) <= 60
    assert " ".join(" ".join(narrow[:2]).split()).endswith(f"compared with {names[0]}")
    assert wide[0] == snapshot

    def hardware(lines: list[str]) -> list[str]:
        begin = lines.index("Hardware per operation") + 1
        return lines[begin : lines.index("", begin)]

    assert len(hardware(narrow)) <= 2 * len(hardware(wide))
    assert " base " in hardware(narrow)[0]


@pytest.mark.parametrize("width", [60, 80])
def test_a_command_that_is_too_wide_is_one_for_a_shell(width: int) -> None:
    measured = parts_experiment({BASE: Spent(), OTHER: Spent(waiting=95.0)})
    stored = Stored(*measured, path=Path("a folder of many results/synthetic"))
    typed = "'a folder of many results/synthetic'"
    stored.manifest.finished = None
    result = explain_results(stored, TEST, None, None, None)
    commands = [each.command for each in result.explained[0].absent if each.command]
    lines = printed(result, width).splitlines()
    assert max(map(len, lines)) <= width
    shown = "\n".join(line.strip() for line in lines).replace(" \\\n", " ")
    assert all(command in shown.splitlines() for command in commands)
    assert (f"    slowdust run {typed} \\" in lines) == (width == 60)


def test_a_large_part_on_the_other_side_is_against_it(snapshot: SnapshotAssertion) -> None:
    text = printed(explained(Spent(), Spent(waiting=95.0, user=25.0)))
    [user] = [line for line in text.splitlines() if line.strip().startswith("user CPU ")]
    assert " against " in user
    assert "▒" in user
    assert " ".join(text.split()) == snapshot


def test_an_experiment_that_is_not_finished_is_said_to_be_so_first(
    snapshot: SnapshotAssertion,
) -> None:
    stored = Stored(*parts_experiment({BASE: Spent(), OTHER: Spent(waiting=75.0)}))
    stored.manifest.finished = None
    text = printed(explain_results(stored, TEST, None, None, None))
    assert text == snapshot
    assert "NOT FINISHED" not in printed(explained(Spent(), Spent(waiting=75.0)))


def told_to_bisect(*versions: str) -> list[str | None]:
    """The suggested searches for the last of these releases compared with the first."""
    spent = {f"postgres@{version}": Spent() for version in versions}
    spent[f"postgres@{versions[-1]}"] = Spent(waiting=95.0)
    stored = Stored(*parts_experiment(spent))
    [one] = explain_results(stored, TEST, versions[-1], versions[0], None).explained
    return [each.command for each in one.absent if each.what.startswith("Releases between")]


def test_a_search_is_suggested_unless_releases_between_were_measured(
    snapshot: SnapshotAssertion,
) -> None:
    assert told_to_bisect("15.8", "17.6") == snapshot
    assert told_to_bisect("15.8", "16.4", "17.6") == []


def test_a_joined_experiment_has_no_command_that_resumes() -> None:
    stored = Stored(*parts_experiment({BASE: Spent(), OTHER: Spent()}, blocks=1, restart=0.3))
    stored.manifest.hosts = [
        HostFacts(
            name="a",
            group="synthetic",
            slowdust="0",
            parts=[MergedPart(experiment="part", path="part", incarnations=[1, 2, 3])],
        )
    ]
    [one] = explain_results(stored, TEST, None, None, None).explained
    [unsure] = [each for each in one.absent if "unsure" in each.what]
    assert unsure.command is None


def test_a_terminal_without_unicode_has_other_signs() -> None:
    text = printed(explained(Spent(), Spent(waiting=75.0)), encoding="latin-1")
    [waiting] = [line for line in text.splitlines() if line.strip().startswith("waiting ")]
    assert "####" in waiting
