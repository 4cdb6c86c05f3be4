"""Any valid workload: no traceback, no hang, exit codes 0 to 3, failures reported.

Each example is a workload of random parts; some fail or never end. More examples:
`SLOWDUST_EXAMPLES=100 pytest tests/integration/test_any_workload.py`.
"""

from __future__ import annotations

from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from slowdust.workloads.workload import read_workload
from tests.integration.slowdust_command import Workplace
from tests.unit.cli.any_input import examples

PAIR = ("sqlite@3.45.0", "sqlite@3.50.2")
_READS = (
    "SELECT a FROM t WHERE id = :id",
    "SELECT count(*), max(b) FROM t WHERE a > :id",
    "SELECT x.id FROM t x, t y WHERE x.a = y.a LIMIT 100",
    "SELECT b FROM t ORDER BY b DESC LIMIT :id",
    "SELECT id FROM t WHERE b LIKE '%?%' OR id IN (SELECT id FROM t WHERE id = :id)",
)
_FAILING = (
    "SELECT missing FROM nowhere",
    "SELECT abs(-9223372036854775808)",
    "SELECT json('{') FROM t",
    "SELECT zeroblob(2000000000)",
    "SELECT a FROM t WHERE id = (SELECT load_extension('x'))",
)
_ENDLESS = (
    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c",
    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c",
)
_WRITES = (
    "UPDATE t SET a = a + 1 WHERE id = :id",
    "DELETE FROM t WHERE id = :id",
    "INSERT INTO t (id, a, b) VALUES (:id, 1, 'x')",
    "INSERT INTO t SELECT max(id) + 1, :id, 'y' FROM t",
    "UPDATE t SET id = 7",
    "CREATE TABLE t (x)",
    "DROP TABLE IF EXISTS u",
)
_BEFORE = ("CREATE TABLE IF NOT EXISTS u (x)", "DROP TABLE IF EXISTS v", "SELECT 1")


@st.composite
def workloads(draw: st.DrawFn) -> dict[str, Any]:
    """A workload that `slowdust workloads check` accepts; its statements may fail."""
    rows = draw(st.integers(1, 300))
    texts = {"type": "text", "by": "text", "length": [1, draw(st.integers(1, 40))]}
    table = {
        "rows": rows,
        "primary_key": "id",
        "columns": {
            "id": {"type": draw(st.sampled_from(["int", "bigint"])), "by": "serial"},
            "a": {"type": "int", "by": draw(st.sampled_from(["uniform", "zipf"])), "low": 1}
            | {"high": draw(st.integers(1, 50))},
            "b": texts,
        },
        "indexes": draw(st.sampled_from([[], [{"columns": ["a"]}], [{"columns": ["a", "b"]}]])),
    }
    kinds = draw(st.lists(st.sampled_from([_READS, _FAILING, _ENDLESS, _WRITES]), max_size=2))
    statements: dict[str, Any] = {}
    tests: dict[str, Any] = {}
    for number, kind in enumerate([_READS, *kinds]):
        name = f"s{number}"
        sql = draw(st.sampled_from(kind))
        parameters = {"parameters": {"id": {"of": "t.id"}}} if ":id" in sql else {}
        results = draw(st.sampled_from([{}, {}, {"result": {"rows": 1}}]))
        statements[name] = {"sql": {"sqlite": sql}} | parameters
        statements[name] |= {} if kind is _WRITES else results
        group = {} if kind is _WRITES else {"group": draw(st.sampled_from(["point", "range"]))}
        tests[f"t{number}"] = {"statements": [name] * draw(st.integers(1, 3))} | group
    before = draw(st.lists(st.sampled_from(_BEFORE), max_size=2))
    return {"before": {"sqlite": before}, "tables": {"t": table}} | {
        "statements": statements,
        "tests": tests,
    }


pytestmark = pytest.mark.builds(*PAIR)


def test_any_workload_is_measured_or_its_failure_reported(workplace: Workplace) -> None:
    number = 0

    @examples(3)
    @given(workloads())
    def check(workload: dict[str, Any]) -> None:
        nonlocal number
        number += 1
        path = workplace.folder / f"any{number}.toml"
        path.write_text(tomli_w.dumps(workload))
        read_workload(path)
        name = f"e{number}"
        process = workplace.start(
            *("compare", *PAIR, "--workload", path.name, "--name", name, "--yes"),
            *("--budget", "1s", "--patience", "1s", "--slice", "25ms", "--incarnations", "1"),
            *("--count", "off"),
        )
        out, err = process.communicate(timeout=600)
        assert "Traceback" not in err + out, err
        assert process.returncode in range(4), err
        if process.returncode == 2:
            pytest.fail(f"a valid workload is called wrong use: {err}")
        told = out + err
        assert all(test in told for test in workload["tests"]), told
        if process.returncode == 0:
            failed = workplace.report(name).get("failed_steps")
            assert not failed, "a test that failed is no success"
        elif "dropped out" not in err:
            named = " failed: " in err or "slowdust: " in err or " fails on " in out
            assert named, told

    check()
