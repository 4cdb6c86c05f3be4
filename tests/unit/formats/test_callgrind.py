from __future__ import annotations

import pytest

from slowdust.errors import SlowdustError
from slowdust.formats.callgrind import read_header, read_profile, read_totals
from slowdust.store.profile import FunctionCost, Profile

SESSION = """\
# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 4711
cmd:  postgres -D data
part: 7
thread: 1


desc: I1 cache:
desc: Timerange: Basic block 1 - 2
desc: Trigger: Client Request: slowdust 8

positions: line
event: sysTime : sysTime (elapsed ms)
events: Ir sysCount sysTime
summary: 4000 12 3


ob=(1) /opt/lib/count-0123456789abcdef.so
fl=(1) ???
fn=(1) recv
0 40
cob=(2) /lib/x86_64-linux-gnu/libc.so.6
cfi=(2) recv.c
cfn=(2) recv
calls=10 28
0 60 12 3

ob=(2)
fl=(2)
fn=(2)
28 60 12 3

ob=(3) /opt/bin/postgres
fl=(3) postgres.c
fn=(3) PostgresMain
100 400
cob=(1)
cfi=(1)
cfn=(1)
calls=10 0
+5 100 12 3
cfn=(4) exec_simple
calls=10 200
* 3500

fn=(4)
200 1000
fi=(4) inline.h
+7 500
fe=(3)
-3 100
cfn=(5) walk.part.0
calls=20 300
+1 1900

fn=(5)
300 600
cfn=(6) walk.part.0'2
calls=20 300
* 1000
cob=(4) /lib/libz.so.1
cfi=(5) ???
cfn=(7) 0x0000000000003e10
calls=20 0
0 300

fn=(6)
300 800
cfn=(6)
calls=5 300
300 500
cob=(4)
cfi=(5)
cfn=(8) 0x0000000000003e80
calls=20 0
0 200

ob=(4)
fl=(5)
fn=(7)
0 300

fn=(8)
0 200

totals: 4000 12 3
"""


def read(*texts: str) -> Profile:
    return read_profile(
        texts, benchmark="micro", test="scan", clients=1, contender="postgres@17.6", operations=10
    )


def test_the_header_says_whose_window_it_is_and_what_was_counted() -> None:
    header = read_header(SESSION)
    assert (header.process, header.thread, header.trigger) == (4711, 1, "slowdust 8")
    assert header.events == {"Ir": 4000, "sysCount": 12, "sysTime": 3} == read_totals(SESSION)
    assert read_totals(SESSION.replace("summary: 4000 12 3", "summary: 0")) == dict.fromkeys(
        ("Ir", "sysCount", "sysTime"), 0
    )


def test_own_costs_are_joined_and_recursion_is_counted_once() -> None:
    costs = {(cost.name, cost.object): cost for cost in read(SESSION).functions}
    assert costs == {
        key: FunctionCost(*key, own, inclusive)
        for key, own, inclusive in (
            (("exec_simple", "postgres"), 160, 350),
            (("walk", "postgres"), 140, 190),
            (("(no symbols)", "libz.so.1"), 50, 50),
            (("PostgresMain", "postgres"), 40, 396),
            (("recv", "libc.so.6"), 6, 6),
        )
    }


def test_calls_are_counted_between_the_functions_that_are_shown() -> None:
    profile = read(SESSION)
    names = [each.name for each in profile.functions]
    assert {(names[each.caller], names[each.callee]): each.count for each in profile.calls} == {
        ("PostgresMain", "exec_simple"): 1,
        ("exec_simple", "walk"): 2,
        ("walk", "(no symbols)"): 4,
    }


def test_calls_that_began_before_the_window_have_a_cost_and_no_number() -> None:
    began_before = read(SESSION.replace("calls=10 200", "calls=0 200"))
    names = [each.name for each in began_before.functions]
    assert ("PostgresMain", "exec_simple") not in {
        (names[each.caller], names[each.callee]) for each in began_before.calls if each.count
    }
    assert began_before.functions == read(SESSION).functions


def test_own_costs_and_stacks_add_up_to_all_but_slowdusts_own_library() -> None:
    profile = read(SESSION)
    assert sum(cost.own for cost in profile.functions) == pytest.approx(396)
    assert sum(profile.stacks.values()) == pytest.approx(396)
    assert profile.unnamed_objects == ["libz.so.1"]


def test_stacks_lead_from_the_root_and_leave_repeated_calls_out() -> None:
    outer = "PostgresMain;exec_simple"
    assert read(SESSION).stacks == pytest.approx(
        {
            "PostgresMain": 40 * 396 / 400,
            "PostgresMain;recv": 10 * 396 / 400,
            outer: 160 * 396 / 400,
            f"{outer};walk": 60 * 396 / 400,
            f"{outer};walk;walk": 80 * 396 / 400,
            f"{outer};walk;walk;[libz.so.1]": 20 * 396 / 400,
            f"{outer};walk;[libz.so.1]": 30 * 396 / 400,
        },
        rel=0.02,
    )


def test_the_files_of_a_window_are_added_up() -> None:
    once, twice = read(SESSION), read(SESSION, SESSION)
    assert [cost.own for cost in twice.functions] == [2 * cost.own for cost in once.functions]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "events: Ir\n",
        SESSION.replace("events: Ir", "events: Bc"),
        SESSION[:900],
        SESSION.replace("(8) 0", "(8)0"),
    ],
)
def test_incomplete_files_are_refused(text: str) -> None:
    with pytest.raises(SlowdustError, match="not a complete callgrind file"):
        read(text)
