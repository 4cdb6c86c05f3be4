import pytest

from slowdust import wording
from slowdust.units import parse_duration
from slowdust.wording import change, operation, short_names, speed, throughput


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (1.3, ("up 30%", "30% faster", "30% more throughput than")),
        (0.96, ("down 4%", "4% slower", "4% less throughput than")),
        (1.004, ("flat", "0.4% faster", "0.4% more throughput than")),
        (1.99, ("up 99%", "99% faster", "99% more throughput than")),
        (2.14, ("2.1X", "2.1X as fast", "2.1X the throughput of")),
        (99.94, ("99.9X", "99.9X as fast", "99.9X the throughput of")),
        (3104.2, ("3,104X", "3,104X as fast", "3,104X the throughput of")),
        (0.0051, ("down 99%", "99% slower", "99% less throughput than")),
        (0.007, ("down 99%", "99% slower", "99% less throughput than")),
        (0.005, ("0.005X", "0.005X as fast", "0.005X the throughput of")),
        (1.995, ("2.0X", "2.0X as fast", "2.0X the throughput of")),
        (0.0042, ("0.004X", "0.004X as fast", "0.004X the throughput of")),
        (0.00042, ("0.0004X", "0.0004X as fast", "0.0004X the throughput of")),
        (0.000000053, ("5e-08X", "5e-08X as fast", "5e-08X the throughput of")),
        (0.0, ("0X", "0X as fast", "0X the throughput of")),
    ],
)
def test_changes_are_percentages_up_to_99_and_factors_beyond(
    ratio: float, words: tuple[str, str, str]
) -> None:
    assert (change(ratio), speed(ratio), throughput(ratio)) == words


@pytest.mark.parametrize("ends", [(0.003, 0.007), (1.99, 2.0)])
def test_no_percentage_is_100(ends: tuple[float, float]) -> None:
    low, high = ends
    for step in range(10_001):
        ratio = low + (high - low) * step / 10_000
        assert "100%" not in change(ratio) + speed(ratio) + throughput(ratio)


@pytest.mark.parametrize(
    ("unit", "one"),
    [("queries/s", "query"), ("thousand rows/s", "thousand rows"), ("operations/s", "operation")],
)
def test_an_operation_is_what_the_rate_counts(unit: str, one: str) -> None:
    assert operation(unit) == one


def test_long_names_are_told_by_what_they_do_not_have_in_common() -> None:
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
