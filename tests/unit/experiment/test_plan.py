from slowdust.experiment.engine.schedule import Action, is_tidied, maintenance_after, turns
from slowdust.experiment.plan import PlannedStep, plan
from slowdust.experiment.spec.spec import parse_spec


def steps_of(*tests: str) -> list[PlannedStep]:
    return plan(parse_spec({"name": "x", "contenders": ["postgres@17"], "tests": list(tests)}))


def described(steps: list[PlannedStep], round_number: int) -> list[tuple[str, Action]]:
    return [(turn.step.test.name, turn.action) for turn in turns(steps, round_number)]


def test_everything_is_measured_in_the_first_round() -> None:
    steps = steps_of("update-index", "point-query", "insert")
    assert described(steps, 1) == [
        ("update-index", Action.MEASURE),
        ("point-query", Action.MEASURE),
        ("insert", Action.MEASURE),
    ]


def test_settled_writes_still_age_the_data_of_later_reads() -> None:
    steps = steps_of("update-index", "point-query", "insert")
    steps[0].settled, steps[0].aged_to = True, [500]
    assert described(steps, 1)[0] == ("update-index", Action.AGE)


def test_nothing_is_aged_for_tests_that_do_not_need_it() -> None:
    steps = steps_of("update-index", "write-only", "insert")
    steps[0].settled, steps[0].aged_to = True, [500]
    assert described(steps, 1) == [("write-only", Action.MEASURE), ("insert", Action.MEASURE)]


def test_maintenance_follows_the_last_write() -> None:
    steps = steps_of("update-index", "write-only", "point-query", "insert")
    after = maintenance_after(turns(steps, 1))
    assert after is not None
    assert after.step.test.name == "write-only"
    assert maintenance_after(turns(steps_of("point-query"), 1)) is None


def test_maintenance_stands_between_tests_of_the_mixed_load_that_write() -> None:
    spec = parse_spec(
        {
            "name": "x",
            "contenders": ["postgres@17"],
            "benchmark": "htap",
            "tests": ["q1", "transactions", "queries.beside", "mixed.t0q1", "mixed.t1q1"],
        }
    )
    todo = turns(plan(spec), 1)
    tidied = [turn.step.test.name for turn in todo if is_tidied(todo, turn)]
    assert tidied == ["transactions", "queries.beside"], "none behind the last one"
    micro = turns(steps_of("update-index", "write-only"), 1)
    assert not is_tidied(micro, micro[0])


def test_clients_are_steps_of_their_own() -> None:
    spec = parse_spec(
        {"name": "x", "contenders": ["postgres@17"], "tests": ["scan"], "clients": [1, 8]}
    )
    assert [step.key for step in plan(spec)] == ["scan@1", "scan@8"]


def test_a_turn_that_was_cut_short_is_not_done() -> None:
    steps = steps_of("update-index", "point-query")
    steps[0].turns_done, steps[0].aged_to = 1, [500]
    assert described(steps, 1) == [("update-index", Action.AGE), ("point-query", Action.MEASURE)]
    steps[0].turns_done, steps[0].aged_to = 0, None
    assert described(steps, 1)[0] == ("update-index", Action.MEASURE)
