"""Point queries by MongoDB's protocol: the driver beside MongoDB's library and beside a bare loop.

    python -m bench.mongodb_client [--builds ferretdb@1.24.2] [--pairs 10] [--seconds 3]

The loops are in C, with one connection by the Unix socket of the same server: one makes a cursor of
libmongoc for each query, the other sends the same message with another key each time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.clients import point_queries
from bench.clients.peers import Peer, Runs, compare, compile_loop
from bench.clients.process import check_programs, options_of_library
from bench.results.rows import Row, show
from bench.servers.scratch import Server, scratch_server
from slowdust.driver_program import find_driver

SMALLEST = ("--pairs", "1", "--seconds", "1")
BUILDS = ("ferretdb@1.24.2",)
LIBRARY = "libmongoc-1.0"
ROWS = 100
"""FerretDB finds a document by its key after reading all of them: of 100,000, five a second."""


def rows(server: Server, runs: Runs) -> Iterator[Row]:
    """Measure the driver beside each loop."""
    program = find_driver()
    point_queries.load(server, program, runs.rows)
    with tempfile.TemporaryDirectory() as path:
        directory = Path(path)
        options = options_of_library(LIBRARY)
        library = compile_loop("point_query_mongodb", directory, options)
        message = compile_loop("point_query_op_msg", directory)
        for peer in (
            Peer("libmongoc", library, 1, most_cpu=0.9),
            Peer("loop in C", message, 1),
        ):
            yield from compare(server, point_queries.driver(program), peer, runs)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a table for each build; return 1 where a goal is not met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--builds", nargs="+", default=BUILDS, help="DBMS@VERSION")
    parser.add_argument("--pairs", type=int, default=10, help="of runs, per comparison")
    parser.add_argument("--seconds", type=int, default=3, help="of one run")
    options = parser.parse_args(arguments)
    check_programs("cc", "taskset", "go")
    options_of_library(LIBRARY)
    runs = Runs(ROWS, options.pairs, options.seconds)
    all_met = True
    for build in options.builds:
        with scratch_server(build) as server:
            all_met &= show(f"The driver on {build}", rows(server, runs))
    return 0 if all_met else 1


if __name__ == "__main__":
    sys.exit(main())
