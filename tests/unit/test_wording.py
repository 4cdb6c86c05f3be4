import pytest

from slowdust import wording
from slowdust.units import parse_duration
from slowdust.wording import operation, short_names


@pytest.mark.parametrize(
    ("unit", "one"),
    [("queries/s", "query"), ("thousand rows/s", "thousand rows"), ("operations/s", "operation")],
)
def test_an_operation_is_what_the_rate_counts(unit: str, one: str) -> None:
    assert operation(unit) == one


def test_long_names_are_reported_by_what_they_do_not_have_in_common() -> None:
    mallocs = [f"mysql@8.0.40:z11e_{name}_c32r128+rel_o2nofp" for name in ("glibc", "jemalloc")]
    configs = ["mysql@8.0.40:small", "mysql@8.0.40:large"]

    commits = [f"postgres@git:{digit * 40}" for digit in "ab"]
    assert list(short_names(commits).values()) == ["git:aaaaaaaaaa", "git:bbbbbbbbbb"]
    assert list(short_names(mallocs).values()) == ["glibc", "jemalloc"]
    assert list(short_names(configs).values()) == ["8.0.40:small", "8.0.40:large"]
    alone = ["mysql@8.0.40:z11e_glibcmalloc_c32r128+rel_o2nofp"]
    assert list(short_names(alone).values()) == ["8.0.40"]


@pytest.mark.parametrize(
    ("seconds", "written"), [(41.0, "40s"), (1187.0, "20m"), (3 * 3600.0, "3h")]
)
def test_a_budget_is_written_as_its_option_is(seconds: float, written: str) -> None:
    assert wording.short_duration(seconds) == written
    assert parse_duration(written) == pytest.approx(seconds, rel=0.05)
