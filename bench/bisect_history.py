"""How well `slowdust bisect` finds three changes among 64 commits of Postgres, on real servers.

    python -m bench.bisect_history [--runs 5] [--first 1] [--commits 64] [--last N] [--busy]

Each run searches the same made history of Debian's Postgres, with another seed: two commits let the
executor count further before every statement, one lets it count less far, all others change a
text. It prints the commits that were found, the builds that were measured, and the time.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from slowdust.bisection.outcome import Outcome
from slowdust.bisection.ranges import committed
from slowdust.bisection.record import Question, write_record
from slowdust.bisection.run import begin, run
from slowdust.experiment.claims.claim import WhenBusy
from slowdust.experiment.live import watching
from tests.integration.made_history import turns_of
from tests.integration.postgres_sources import history

SMALLEST = ("--runs", "1", "--commits", "6", "--last", "2")
ROWS = 1000
MOST_BUILDS = 20


def search(repository: Path, good: str, bad: str, seed: int, folder: Path) -> Outcome:
    """Search one history from one of its tags to another."""
    candidates = committed("postgres", str(repository), good, bad, print)
    options = {"tests": "point-query", "rows": ROWS, "seed": seed, "repo": str(repository)}
    question = Question(
        range="postgres",
        metric="work",
        margin=None,
        most_candidates=MOST_BUILDS,
        options={**options, "budget": "2s", "incarnations": 1},
        good=good,
        bad=bad,
    )
    folder.mkdir()
    write_record(folder, begin(candidates, question, watching))
    return run(folder, WhenBusy.WAIT, watching, lambda text: print(text, file=sys.stderr))


@contextmanager
def _busy_core() -> Iterator[None]:
    """Keep one core busy meanwhile."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try:
            yield
        finally:
            process.kill()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each run; return 1 where one did not find exactly the changes."""
    parser = argparse.ArgumentParser(prog="bench.bisect_history", description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--first", type=int, default=1, help="seed of the first run")
    parser.add_argument("--commits", type=int, default=64)
    parser.add_argument("--last", type=int, help="search the last commits alone  [all]")
    parser.add_argument("--busy", action="store_true", help="beside a busy core")
    options = parser.parse_args(arguments)
    turns = turns_of(options.commits)
    repository = history(options.commits)
    before = 0 if options.last is None else options.commits - options.last
    good, bad = f"c{before}" if before else "release", f"c{options.commits}"
    true = [
        number
        for number, pair in enumerate(zip([0, *turns], turns, strict=False), 1)
        if len({*pair}) > 1 and number > before
    ]
    right = 0
    for number in range(options.first, options.first + options.runs):
        begun = time.monotonic()
        with (
            tempfile.TemporaryDirectory() as place,
            _busy_core() if options.busy else nullcontext(),
        ):
            outcome = search(repository, good, bad, number, Path(place) / "search")
        found = [change.candidate.subject for change in outcome.changes]
        expected = [f"Count to {turns[commit - 1]} before every statement" for commit in true]
        right += found == expected and outcome.measured <= MOST_BUILDS
        print(
            f"run {number}: {len(found)} of {len(true)} changes, "
            f"{'exactly these' if found == expected else found}, {outcome.measured} builds, "
            f"{(time.monotonic() - begun) / 60:.1f} min",
            flush=True,
        )
    return 0 if right == options.runs else 1


if __name__ == "__main__":
    sys.exit(main())
