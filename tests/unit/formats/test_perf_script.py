"""Samples as `perf script` prints them."""

from __future__ import annotations

import pytest

from slowdust.formats.perf_script import KERNEL, read_profile, read_samples
from slowdust.store.profile import Profile

_SAMPLES = """\
    500000 
\t          3df41c hash_search.constprop.0 (/opt/pg/bin/postgres)
\t          3cdfd4 exec (/opt/pg/bin/postgres)
\t          3ca4fe main (/opt/pg/bin/postgres (deleted))
\t           27304 __libc_start_main@@GLIBC_2.34 (/usr/lib/libc.so.6)

    500000 
\tffffffff821ef666 do_syscall_64 ([kernel.kallsyms])
\tffffffffc0123456 [unknown] ([ext4])
\t          10a929 [unknown] (/usr/lib/libssl.so.3)
\t          10a92a [unknown] (/usr/lib/libssl.so.3)
\t          3cdfd4 exec (/opt/pg/bin/postgres)
\t          3cdfd4 exec (/opt/pg/bin/postgres)
\t          3ca4fe main (/opt/pg/bin/postgres)

    500000 
\t            4711 std::vector<int, std::allocator<int> >::operator() (/opt/my sql/mysqld)

    500000 

"""  # noqa: W291


@pytest.fixture
def profile() -> Profile:
    return read_profile(
        _SAMPLES, benchmark="micro", test="scan", clients=1, contender="a", operations=100
    )


def test_a_sample_is_a_stack_whose_outermost_function_is_first() -> None:
    samples = list(read_samples(_SAMPLES))
    assert [period for period, _ in samples] == [500_000] * 3  # the last one has no stack
    first, second, third = (stack for _, stack in samples)
    assert [function.name for function in first] == [
        "__libc_start_main", "main", "exec", "hash_search",
    ]  # fmt: skip
    assert [function.frame for function in second] == [
        "main", "exec", "exec", "[libssl.so.3]", "[ext4]", "do_syscall_64",
    ]  # fmt: skip
    assert second[-1].object == KERNEL
    assert third[0].name == "std::vector<int, std::allocator<int> >::operator()"
    assert third[0].object == "mysqld"


def test_costs_are_nanoseconds_per_operation(profile: Profile) -> None:
    assert (profile.source, profile.unit, profile.samples) == ("perf", "ns", 3)
    by_name = {cost.name: cost for cost in profile.functions}
    assert by_name["hash_search"].own == 5000
    assert by_name["exec"].own == 0
    assert by_name["exec"].inclusive == 10_000  # once in a sample, though it calls itself
    assert by_name["main"].object == "postgres"
    assert sum(cost.own for cost in profile.functions) == 15_000
    assert sum(profile.stacks.values()) == 15_000
    assert profile.stacks["__libc_start_main;main;exec;hash_search"] == 5000


def test_an_object_without_symbols_is_named() -> None:
    text = "    500000 \n\t  10a929 [unknown] (/usr/lib/libssl.so.3)\n\n"
    profile = read_profile(
        text, benchmark="micro", test="scan", clients=1, contender="a", operations=1
    )
    assert profile.unnamed_objects == ["libssl.so.3"]
    assert profile.stacks == {"[libssl.so.3]": 500_000}
