"""Functions of a real program under callgrind, and flame graphs by the real program."""

from __future__ import annotations

import base64
import gzip
import subprocess
from pathlib import Path

import pytest

from slowdust.formats.callgrind import read_header, read_profile
from slowdust.report.html.flames import flame_graphs
from slowdust.store.profile import FunctionCost
from tests.tiers.selection import needs
from tests.unit.report.sample import BASE, NEWER, profiled_experiment

PROGRAM = """
static __attribute__((noinline)) long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static __attribute__((noinline)) long sum(long n)
{
    volatile long total = 0;
    for (long i = 0; i < n; i++)
        total += fib(1);
    return total;
}
int main(void) { return (int)((fib(16) + sum(1000) + sum(3000)) & 1); }
"""
OPTIONS = ("--tool=callgrind", "--dump-line=no", "--separate-threads=yes", "--collect-systime=yes")


def _profiled(folder: Path) -> str:
    """Return the file of a program under callgrind."""
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run(["cc", "-O1", "-o", "program", "program.c"], cwd=folder, check=True)
    command = ["valgrind", *OPTIONS, "--callgrind-out-file=out", "./program"]
    subprocess.run(command, cwd=folder, check=False, capture_output=True)
    return (folder / "out-01").read_text()


@needs("valgrind", "cc")
def test_functions_of_a_program_are_those_that_callgrind_counted(tmp_path: Path) -> None:
    text = _profiled(tmp_path)
    profile = read_profile(
        [text], benchmark="micro", test="scan", clients=1, contender=BASE, operations=1
    )
    total = read_header(text).events["Ir"]
    costs: dict[str, FunctionCost] = {cost.name: cost for cost in profile.functions}

    assert sum(cost.own for cost in profile.functions) == pytest.approx(total, rel=1e-12)
    assert sum(profile.stacks.values()) == pytest.approx(total, rel=1e-9)
    assert costs["main"].inclusive < total
    # It calls nothing but itself.
    assert costs["fib"].inclusive == costs["fib"].own
    assert costs["sum"].own < costs["sum"].inclusive < costs["main"].inclusive
    assert costs["main"].inclusive == pytest.approx(
        sum(costs[name].own for name in ("main", "fib", "sum")), rel=0.001
    )


def test_flame_graphs_have_the_functions_of_their_profiles() -> None:
    *_, profiles = profiled_experiment()
    (graphs,) = flame_graphs(profiles, [BASE, NEWER]).values()
    assert (len(graphs.graphs), graphs.compared, graphs.missing) == (4, True, False)
    for graph in graphs.graphs:
        svg = gzip.decompress(base64.b64decode(graph.data)).decode()
        assert f'height="{graph.height}"' in svg
        assert "parse&lt;1&gt;" in svg
    assert flame_graphs(profiles, [BASE, NEWER]) == flame_graphs(profiles, [BASE, NEWER])
