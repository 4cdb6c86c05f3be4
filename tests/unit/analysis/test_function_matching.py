"""Functions that moved, were renamed, inlined or split: synthetic call graphs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slowdust.analysis.functions.changes import changes_between
from slowdust.analysis.functions.model import FunctionChange, FunctionChanges
from slowdust.store.profile import FunctionCost, Profile, calls_between

BASE, NEWER = "postgres@15.8", "postgres@17.6"
SERVER = "postgres"

Calls = Mapping[tuple[str, str], float]

COSTS = {
    "main": 700.0,
    "parse": 900.0,
    "plan": 1100.0,
    "cost_path": 400.0,
    "execute": 1300.0,
    "scan": 800.0,
    "fetch": 500.0,
    "palloc": 600.0,
    "memcpy": 300.0,
}
CALLS = {
    ("main", "parse"): 1.0,
    ("main", "plan"): 1.0,
    ("main", "execute"): 1.0,
    ("parse", "palloc"): 5.0,
    ("plan", "cost_path"): 4.0,
    ("plan", "palloc"): 7.0,
    ("cost_path", "palloc"): 2.0,
    ("execute", "scan"): 3.0,
    ("scan", "fetch"): 9.0,
    ("scan", "memcpy"): 2.0,
    ("fetch", "memcpy"): 9.0,
}


def profile(
    contender: str,
    costs: Mapping[str, float] = COSTS,
    calls: Calls = CALLS,
    objects: Mapping[str, str] = MappingProxyType({}),
) -> Profile:
    functions = [
        FunctionCost(name, objects.get(name, SERVER), own, own) for name, own in costs.items()
    ]
    place = {each.name: (each.name, each.object) for each in functions}
    return Profile(
        benchmark="micro",
        test="point-query",
        clients=1,
        contender=contender,
        source="callgrind",
        unit="instructions",
        operations=10,
        functions=functions,
        calls=calls_between(
            functions,
            {(place[caller], place[callee]): count for (caller, callee), count in calls.items()},
        ),
    )


def renamed(name: str, new: str) -> tuple[dict[str, float], dict[tuple[str, str], float]]:
    """Rename a function in costs and calls."""
    names = {each: new if each == name else each for each in COSTS}
    return (
        {names[each]: own for each, own in COSTS.items()},
        {(names[caller], names[callee]): count for (caller, callee), count in CALLS.items()},
    )


def inlined(name: str) -> tuple[dict[str, float], dict[tuple[str, str], float]]:
    """Inline a function that has one caller into it."""
    [caller] = [each for each, callee in CALLS if callee == name]
    costs = {each: own for each, own in COSTS.items() if each != name}
    costs[caller] += 0.9 * COSTS[name]
    calls = {pair: count for pair, count in CALLS.items() if name not in pair}
    for (each, callee), count in CALLS.items():
        if each == name:
            calls[caller, callee] = calls.get((caller, callee), 0.0) + count
    return costs, calls


def change_of(changes: FunctionChanges, name: str) -> FunctionChange:
    [change] = [each for each in changes.functions if each.name == name]
    return change


def test_a_function_with_another_name_and_the_same_calls_was_renamed() -> None:
    costs, calls = renamed("scan", "heap_getnext")
    costs["heap_getnext"] += 50
    changes = changes_between(profile(BASE), profile(NEWER, costs, calls))
    [only] = changes.functions
    assert (only.name, only.fate, only.base_own, only.own) == ("heap_getnext", "grew", 800, 850)
    assert only.base_inclusive == 800
    [part] = only.parts or []
    assert (part.name, part.kind, part.base_own, part.own) == ("scan", "renamed", 800, None)
    assert (changes.matched, changes.came, changes.went) == (1, 0, 0)
    assert only.remark == "renamed from scan"


def test_a_function_with_other_callees_was_not_renamed() -> None:
    costs, calls = renamed("cost_path", "vacuum")
    del calls["vacuum", "palloc"]
    calls["vacuum", "memcpy"] = 2.0
    changes = changes_between(profile(BASE), profile(NEWER, costs, calls))
    assert {(each.name, each.fate) for each in changes.functions} == {
        ("cost_path", "went"),
        ("vacuum", "came"),
    }
    assert (changes.matched, changes.came, changes.went) == (0, 400, 400)
    assert all(each.elsewhere == 400 for each in changes.functions)


def test_a_chain_of_functions_is_matched_from_its_callers_on() -> None:
    names = {"execute": "ExecutorRun", "scan": "SeqNext", "fetch": "getsomeattrs"}
    costs = {names.get(each, each): own + 1 for each, own in COSTS.items()}
    calls = {(names.get(a, a), names.get(b, b)): count for (a, b), count in CALLS.items()}
    changes = changes_between(profile(BASE), profile(NEWER, costs, calls))
    assert {each.name: each.remark for each in changes.functions if each.parts} == {
        new: f"renamed from {old}" for old, new in names.items()
    }


@pytest.mark.parametrize("name", ["scan", "fetch", "cost_path"])
def test_a_function_that_its_caller_took_in_is_counted_with_it(name: str) -> None:
    costs, calls = inlined(name)
    changes = changes_between(profile(BASE), profile(NEWER, costs, calls))
    [only] = changes.functions
    assert [(each.name, each.kind) for each in only.parts or []] == [(name, "inlined")]
    assert only.change == pytest.approx(-0.1 * COSTS[name])
    assert only.remark == f"with inlined {name}"


@pytest.mark.parametrize("name", ["scan", "fetch", "cost_path"])
def test_a_function_that_was_split_off_is_counted_with_its_caller(name: str) -> None:
    costs, calls = inlined(name)
    changes = changes_between(profile(BASE, costs, calls), profile(NEWER))
    [only] = changes.functions
    assert [(each.name, each.kind) for each in only.parts or []] == [(name, "split")]
    assert only.change == pytest.approx(0.1 * COSTS[name])


def test_a_function_that_several_callers_took_in_is_shared_out_among_them() -> None:
    costs = {each: own for each, own in COSTS.items() if each != "palloc"}
    calls = {pair: count for pair, count in CALLS.items() if "palloc" not in pair}
    for (caller, callee), count in CALLS.items():
        if callee == "palloc":
            costs[caller] += 600.0 * count / 14
    changes = changes_between(profile(BASE), profile(NEWER, costs, calls))
    assert changes.change == pytest.approx(0)
    assert (changes.functions, changes.matched, changes.others) == ([], 1, 0)


def test_a_function_whose_calls_another_one_makes_is_counted_with_it() -> None:
    costs = {**COSTS, "palloc0": 100.0}
    calls = {**CALLS, ("plan", "palloc0"): 1.0, ("palloc0", "memcpy"): 1.0}
    before = {**costs, "AllocZeroAligned": 300.0}
    calls_before = {**calls, ("plan", "AllocZeroAligned"): 3.0, ("AllocZeroAligned", "memcpy"): 3.0}
    after = {**costs, "palloc0": 380.0}
    calls_after = {**calls, ("plan", "palloc0"): 4.0, ("palloc0", "memcpy"): 4.0}
    changes = changes_between(
        profile(BASE, before, calls_before), profile(NEWER, after, calls_after)
    )
    only = change_of(changes, "palloc0")
    assert (only.base_own, only.own, only.change) == (400, 380, -20)
    assert [(each.name, each.kind) for each in only.parts or []] == [
        ("AllocZeroAligned", "replaced")
    ]
    assert (only.base_inclusive, only.inclusive) == (None, None)


def test_a_function_in_another_object_moved() -> None:
    changes = changes_between(
        profile(BASE, objects={"memcpy": "libold.so.1"}),
        profile(NEWER, {**COSTS, "memcpy": 310.0}, objects={"memcpy": "libnew.so.1"}),
    )
    [only] = changes.functions
    assert (only.fate, only.object, only.change) == ("grew", "libnew.so.1", 10)
    assert only.remark == "moved from libold.so.1"


def test_a_function_that_is_new_or_gone_has_no_counterpart() -> None:
    costs = {each: own for each, own in COSTS.items() if each != "cost_path"}
    calls = {pair: count for pair, count in CALLS.items() if "cost_path" not in pair}
    costs["checksum"] = 450.0
    calls["fetch", "checksum"] = 9.0
    changes = changes_between(profile(BASE), profile(NEWER, costs, calls))
    assert [(each.name, each.fate, each.parts, each.elsewhere) for each in changes.functions] == [
        ("checksum", "came", None, 0),
        ("cost_path", "went", None, 0),
    ]


def test_functions_that_grew_may_contain_one_without_counterpart() -> None:
    costs = {each: own for each, own in COSTS.items() if each != "cost_path"}
    calls = {pair: count for pair, count in CALLS.items() if "cost_path" not in pair}
    costs["plan"] += 150
    costs["fetch"] += 150
    changes = changes_between(profile(BASE), profile(NEWER, costs, calls))
    assert change_of(changes, "plan").elsewhere == 400
    assert change_of(changes, "fetch").elsewhere == 0


def test_functions_without_names_are_not_matched_and_may_have_the_code_of_their_neighbours() -> (
    None
):
    before, calls_before = renamed("scan", "(no symbols)")
    after, calls_after = renamed("fetch", "(no symbols)")
    changes = changes_between(
        profile(BASE, before, calls_before), profile(NEWER, after, calls_after)
    )
    assert changes.matched == 0
    assert {each.name for each in changes.functions} == {"scan", "fetch", "(no symbols)"}
    assert (change_of(changes, "scan").elsewhere or 0) >= 300


def test_profiles_without_calls_have_functions_by_their_names_alone() -> None:
    costs, _ = renamed("scan", "heap_getnext")
    changes = changes_between(profile(BASE, calls={}), profile(NEWER, costs, {}))
    assert (changes.matched, changes.came, changes.went) == (None, 800, 800)
    assert [each.elsewhere for each in changes.functions] == [None, None]


IN_ANY_TIME = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
NAMES = st.sampled_from([*"abcdefgh", "(no symbols)"])
GRAPHS = st.tuples(
    st.dictionaries(NAMES, st.integers(0, 1000).map(float), min_size=1),
    st.dictionaries(st.tuples(NAMES, NAMES), st.integers(0, 20).map(float)),
)


def graph_profile(
    contender: str, costs: Mapping[str, float], calls: Calls, suffix: str = ""
) -> Profile:
    """Return a profile of random functions; half of the names have a suffix."""

    def name(plain: str) -> str:
        return plain + suffix if plain in "abcd" else plain

    return profile(
        contender,
        {name(each): own for each, own in costs.items()},
        {
            (name(caller), name(callee)): count
            for (caller, callee), count in calls.items()
            if caller != callee and {caller, callee} <= costs.keys()
        },
    )


@IN_ANY_TIME
@given(GRAPHS, GRAPHS)
def test_changes_add_up_for_any_matching(
    one: tuple[dict[str, float], Calls], other: tuple[dict[str, float], Calls]
) -> None:
    before = graph_profile(BASE, *one)
    after = graph_profile(NEWER, *other, suffix="_v2")
    changes = changes_between(before, after)
    listed = sum(each.change for each in changes.functions)
    assert listed + changes.others_change == pytest.approx(changes.change, abs=1e-6)
    assert changes.increase - changes.decrease == pytest.approx(changes.change, abs=1e-6)
    assert changes.base_total == sum(each.own for each in before.functions)
    assert changes.total == sum(each.own for each in after.functions)
    for each in changes.functions:
        base, own = each.base_own or 0.0, each.own or 0.0
        assert own - base == pytest.approx(each.change, abs=1e-6)
        assert sum(part.base_own or 0.0 for part in each.parts or ()) <= base + 1e-6
        assert sum(part.own or 0.0 for part in each.parts or ()) <= own + 1e-6


@IN_ANY_TIME
@given(GRAPHS)
def test_a_server_that_did_not_change_has_no_changes(
    graph: tuple[dict[str, float], Calls],
) -> None:
    changes = changes_between(graph_profile(BASE, *graph), graph_profile(NEWER, *graph))
    assert (changes.functions, changes.others, changes.change) == ([], 0, 0)
