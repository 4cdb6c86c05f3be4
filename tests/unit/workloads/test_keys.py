"""Keys are proven to be unique, for any number of rows."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowdust.located_errors import AtKeysError
from slowdust.workloads.checks import check_key
from slowdust.workloads.file import TableTable

MANY = 4_000_000_000


def refusal(rows: int, *columns: str | dict[str, object]) -> str:
    """Return why the columns are no key of `rows` rows; empty if they are."""
    named = {
        f"c{place}": {"type": "bigint", **(column if isinstance(column, dict) else {"by": column})}
        for place, column in enumerate(columns)
    }
    table = TableTable.model_validate({"rows": rows, "columns": named})
    try:
        check_key("t", table, (), list(named))
    except AtKeysError as error:
        return str(error)
    return ""


def cycle(count: int, each: int = 1) -> dict[str, object]:
    return {"by": "cycle", "count": count, "each": each}


def test_rows_far_after_the_first_are_looked_at() -> None:
    assert refusal(3_000_000, cycle(2_999_999)).startswith("row 3,000,000 of 3,000,000 has the")
    assert refusal(MANY, cycle(2**31)).startswith("row 2,147,483,649 of 4,000,000,000")
    assert refusal(MANY, cycle(MANY)) == ""
    assert refusal(MANY, cycle(10), cycle(MANY // 10 - 1, each=10)) != ""
    assert refusal(MANY, cycle(10), cycle(MANY // 10, each=10)) == ""


def test_numbers_that_a_type_rounds_are_no_key() -> None:
    assert refusal(2**24, {"type": "real", "by": "serial"}) == ""
    assert "rounds numbers above 16,777,216" in refusal(2**24 + 1, {"type": "real", "by": "serial"})
    far = {"type": "real", "by": "cycle", "count": 100, "start": 2**30}
    assert "rounds numbers" in refusal(50, far)


@given(
    st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), min_size=1, max_size=3),
    st.integers(1, 150),
)
@settings(max_examples=150, deadline=None)
def test_no_key_that_is_accepted_has_two_rows_alike(
    cycles: list[tuple[int, int]], rows: int
) -> None:
    told = refusal(rows, *(cycle(count, each) for count, each in cycles))
    made = [tuple(row // each % count for count, each in cycles) for row in range(rows)]
    if not told:
        assert len(set(made)) == rows
    elif told.startswith("row "):
        again = int(told.split()[1].replace(",", "")) - 1
        assert made[again] == made[0]


@pytest.mark.parametrize("each", [2, 3, 5, 7])
def test_places_within_longer_cycles_are_a_key(each: int) -> None:
    assert refusal(each * 50, cycle(50, each), cycle(each + 1)) == ""
