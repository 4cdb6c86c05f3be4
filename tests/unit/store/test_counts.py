"""Counts and profiles of several starts in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.store.count import INSTRUCTIONS
from slowdust.store.folder import Folder, writing
from slowdust.store.profile import Calls, FunctionCost, Profile
from tests.unit.synthetic_counts import synthetic_counts


def profile(operations: int, functions: dict[str, float], contender: str = "a") -> Profile:
    return Profile(
        benchmark="micro",
        test="insert",
        clients=1,
        contender=contender,
        source="callgrind",
        unit="instructions",
        operations=operations,
        functions=[FunctionCost(name, "mysqld", own, own) for name, own in functions.items()],
        stacks={f"main;{name}": own for name, own in functions.items()},
        calls=[Calls(1, 0, 4.0)] if len(functions) > 1 else [],
    )


def test_a_step_that_is_counted_again_keeps_the_later_counts(tmp_path: Path) -> None:
    before, after = (synthetic_counts(["a"], ["insert"], seed=seed) for seed in (1, 2))
    folder = Folder(tmp_path / "x")
    with writing(folder) as writer:
        for count in [*before[:3], *after]:
            writer.append_count(count)
        counts = folder.read_counts()
    assert counts == after
    assert counts[0].run.own[INSTRUCTIONS] != before[0].run.own[INSTRUCTIONS]


def test_profiles_of_two_starts_are_a_mean_over_all_operations(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "x")
    with writing(folder) as writer:
        writer.write_profile(profile(9, {"lost": 1.0}), 1, 1)
        writer.write_profile(profile(300, {"split": 20.0, "parse": 10.0}), 1, 1)
        writer.write_profile(profile(100, {"parse": 50.0}), 1, 2)
        writer.write_profile(profile(100, {"parse": 7.0}, "b"), 2, 1)
        joined, other = folder.read_profiles()
    assert joined.operations == 400
    assert joined.functions == [
        FunctionCost("parse", "mysqld", 20.0, 20.0),
        FunctionCost("split", "mysqld", 15.0, 15.0),
    ]
    # One start had the call, 4 times in each of 300 of 400 operations.
    assert joined.calls == [Calls(0, 1, 3.0)]
    assert joined.stacks == pytest.approx({"main;split": 15.0, "main;parse": 20.0})
    assert other.functions == [FunctionCost("parse", "mysqld", 7.0, 7.0)]
