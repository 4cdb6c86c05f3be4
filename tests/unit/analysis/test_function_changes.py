from __future__ import annotations

import numpy as np
import pytest

from slowdust.analysis.functions.changes import changes_between, function_changes
from slowdust.store.profile import FunctionCost, Profile, ProfileSource

BASE, NEWER = "mysql@5.6.24", "mysql@9.7.4"


def profile(
    contender: str,
    *costs: tuple[str, str, float],
    test: str = "point-query",
    source: ProfileSource = "callgrind",
    unnamed: tuple[str, ...] = (),
) -> Profile:
    return Profile(
        benchmark="micro",
        test=test,
        clients=1,
        contender=contender,
        source=source,
        unit="instructions",
        operations=10,
        functions=[FunctionCost(name, object_, own, 2 * own) for name, object_, own in costs],
        unnamed_objects=list(unnamed),
    )


def test_functions_grow_shrink_come_and_go() -> None:
    changes = changes_between(
        profile(
            BASE,
            ("parse", "mysqld", 100),
            ("plan", "mysqld", 50),
            ("memcpy", "libc-2.31.so", 30),
            ("send", "mysqld", 7),
        ),
        profile(
            NEWER,
            ("parse", "mysqld", 160),
            ("memcpy", "libc.so.6", 20),
            ("hash", "libcrypto.so.3", 40),
            ("send", "mysqld", 7),
        ),
    )
    assert (changes.base_total, changes.total, changes.change) == (187, 227, 40)
    assert [(each.name, each.fate, each.change) for each in changes.functions] == [
        ("parse", "grew", 60),
        ("plan", "went", -50),
        ("hash", "came", 40),
        ("memcpy", "shrank", -10),
    ]
    grown, gone, new, _ = changes.functions
    assert (grown.base_own, grown.own, grown.base_inclusive, grown.inclusive) == (
        100,
        160,
        200,
        320,
    )
    assert (grown.share, gone.own, gone.inclusive) == (1.5, None, None)
    assert (new.base_own, new.base_inclusive) == (None, None)


def test_listed_functions_and_the_others_add_up_to_the_whole_change() -> None:
    before = profile(BASE, *((f"f{number}", "mysqld", 10 + number) for number in range(40)))
    after = profile(NEWER, *((f"f{number}", "mysqld", 3 * number) for number in range(20, 60)))
    changes = changes_between(before, after)
    assert len(changes.functions) == 15
    assert changes.others == 60 - 15
    listed = sum(function.change for function in changes.functions)
    assert listed + changes.others_change == pytest.approx(changes.change)
    assert changes.others_share == pytest.approx(changes.others_change / changes.change)


def test_the_server_programs_of_mysql_and_mariadb_are_one_object() -> None:
    changes = changes_between(
        profile(BASE, ("main", "mysqld", 5), ("f", "libssl.so.1.1", 1)),
        profile("mariadb@11.4", ("main", "mariadbd", 9), ("f", "libz.so.1", 1)),
    )
    assert [(each.name, each.object, each.fate) for each in changes.functions] == [
        ("main", "mariadbd", "grew"),
        ("f", "libssl.so.1.1", "went"),
        ("f", "libz.so.1", "came"),
    ]


def test_only_profiles_of_one_step_and_one_source_are_joined() -> None:
    profiles = [
        profile(BASE, ("f", "mysqld", 5)),
        profile(NEWER, ("f", "mysqld", 6), unnamed=("libc.so.6",)),
        profile(NEWER, ("f", "mysqld", 8), test="scan"),
        profile(BASE, ("f", "mysqld", 9), source="perf"),
    ]
    (only,) = function_changes(profiles, BASE, [BASE, NEWER])
    assert (only.test, only.contender, only.source, only.change) == (
        "point-query",
        NEWER,
        "callgrind",
        1,
    )
    assert only.unnamed == {NEWER: ["libc.so.6"]}
    assert function_changes(profiles, NEWER, [NEWER, BASE])[0].change == -1


def test_an_object_without_symbols_on_one_side_is_compared_as_a_whole() -> None:
    changes = changes_between(
        profile(BASE, ("memcpy", "libc-2.31.so", 30), ("malloc", "libc-2.31.so", 20)),
        profile(NEWER, ("(no symbols)", "libc.so.6", 65), unnamed=("libc.so.6",)),
    )
    (only,) = changes.functions
    assert (only.name, only.object, only.fate) == ("(all functions)", "libc.so.6", "grew")
    assert (only.base_own, only.own, only.base_inclusive, only.inclusive) == (50, 65, None, None)


def test_a_share_of_no_change_is_absent() -> None:
    changes = changes_between(
        profile(BASE, ("f", "mysqld", 5), ("g", "mysqld", 4)),
        profile(NEWER, ("f", "mysqld", 4), ("g", "mysqld", 5)),
    )
    assert [each.share for each in changes.functions] == [None, None]
    assert changes.others_share is None


def sampled(contender: str, **samples: int) -> Profile:
    """A profile of 1,000 operations, with a sample each 250 µs."""
    return Profile(
        benchmark="micro",
        test="point-query",
        clients=1,
        contender=contender,
        source="perf",
        unit="ns",
        operations=1000,
        samples=sum(samples.values()),
        functions=[
            FunctionCost(name, "mysqld", 250.0 * count, 250.0 * count)
            for name, count in samples.items()
        ],
    )


def test_a_handful_of_samples_is_no_change_of_a_function() -> None:
    changes = changes_between(
        sampled(BASE, parse=400, plan=300, gone=3, shrunken=9),
        sampled(NEWER, parse=410, plan=480, new=4, shrunken=4),
    )

    assert [(each.name, each.fate) for each in changes.functions] == [("plan", "grew")]
    assert (changes.others, changes.base_samples, changes.samples) == (4, 712, 898)
    assert 180 * 250 + changes.others_change == pytest.approx(changes.change)


def test_a_function_with_many_samples_comes_and_goes() -> None:
    changes = changes_between(sampled(BASE, parse=400, old=60), sampled(NEWER, parse=400, new=70))

    assert [(each.name, each.fate) for each in changes.functions] == [
        ("new", "came"),
        ("old", "went"),
    ]


def test_samples_of_a_server_that_did_not_change_list_no_function() -> None:
    rng = np.random.default_rng(5)
    listed = 0
    for _ in range(100):
        before, after = (
            sampled(name, **{f"f{at}": int(rng.poisson(1 + 4 * at)) for at in range(40)})
            for name in (BASE, NEWER)
        )
        listed += bool(changes_between(before, after).functions)

    assert listed <= 10


def test_all_that_came_and_went_is_added_up_beyond_what_is_listed() -> None:
    before = profile(BASE, ("kept", "mysqld", 1000), *((f"o{n}", "mysqld", 10) for n in range(40)))
    after = profile(NEWER, ("kept", "mysqld", 1000), *((f"n{n}", "mysqld", 11) for n in range(40)))

    changes = changes_between(before, after)

    assert (changes.came, changes.went) == (440, 400)
