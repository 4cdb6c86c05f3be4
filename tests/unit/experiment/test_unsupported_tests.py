from __future__ import annotations

from dataclasses import replace

import pytest

from slowdust.benchmarks.micro import MICRO
from slowdust.benchmarks.vector import VECTOR
from slowdust.experiment.contenders import skip_unsupported_tests
from slowdust.experiment.plan import PlannedStep
from tests.unit.synthetic_contenders import contender, resolved

ALL = ["exact", "hnsw.ef10", "ivfflat.probes1"]
BEFORE_EXECUTION = MICRO.matching(["connect*", "plan-*"])
WITHOUT_IVFFLAT = ["exact", "hnsw.ef10"]


@pytest.mark.parametrize(
    ("names", "left"),
    [
        (["postgres@18.4", "postgres@16.2"], ALL),
        (
            ["postgres@18.4", "postgres@16.2", "mariadb@11.8"],
            ["exact", "hnsw.ef10", "ivfflat.probes1"],
        ),
        (["postgres@18.4", "mariadb@11.8"], WITHOUT_IVFFLAT),
        (["mariadb@11.8", "postgres@18.4", "postgres@16.2"], WITHOUT_IVFFLAT),
        (["mariadb@11.8"], WITHOUT_IVFFLAT),
        (["postgres@18.4"], ALL),
    ],
)
def test_steps_without_a_comparison_are_skipped(names: list[str], left: list[str]) -> None:
    tests = VECTOR.matching(["exact", "hnsw.ef10", "ivfflat.probes1"])
    steps = [PlannedStep(test, 1) for test in tests]
    sentences = skip_unsupported_tests(steps, [contender(name) for name in names])
    assert sorted(step.test.name for step in steps if step.is_open) == left
    told = ["mariadb@11.8 does not support ivfflat: MariaDB has no IVFFlat"]
    assert sentences == (told if "mariadb@11.8" in names else [])


@pytest.mark.parametrize(
    ("name", "lacked"),
    [
        ("mysql@9.7.4/memory", ["connect-tls", "plan-partitions"]),
        ("mysql@9.7.4/innodb", ["connect-tls"]),
        ("mongodb@8.0", [test.name for test in BEFORE_EXECUTION]),
    ],
)
def test_statements_before_execution_are_not_tested_everywhere(
    name: str, lacked: list[str]
) -> None:
    server, _, engine = name.partition("/")
    lacking = replace(resolved(server), engine=engine or None)
    assert [test.name for test in BEFORE_EXECUTION if lacking.lacks(test) is not None] == lacked


def test_encryption_is_tested_where_the_server_has_it() -> None:
    lacking = replace(resolved("postgres@17.6"), without_tls=None)
    assert [test.name for test in BEFORE_EXECUTION if lacking.lacks(test) is not None] == []
