"""What is left of a Slowdust that is killed at a random instant, after the next one has begun.

An experiment of a few seconds is killed by SIGKILL, with its watchdog, at an instant between its
start and its end: while it asks servers for their settings, makes data, loads, measures, stops,
clears up or writes the report. Then what every run does first is done, and all that is left is
counted: processes, directories, System V segments, files of /dev/shm and temporary files.

    python -m bench.kills [--kills 200] [--builds postgres@17.6 mysql@9.7.4 mariadb@11.8]
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from slowdust.accounts import server_account
from slowdust.instances.leftovers import clean_leftovers
from slowdust.instances.owner import instances_root
from slowdust.places import DATA_VARIABLE
from slowdust.units import Second

SMALLEST = ("--kills", "3", "--builds", "postgres@17.6")

_OPTIONS = ("--tests", "point-query", "--rows", "1000", "--budget", "1s", "--incarnations", "2")
_NO_COUNTS = ("--count", "off", "--yes")
_LONGER_THAN_A_RUN = 1.05
"""Latest kill, in units of what a whole run took: some runs have ended by then."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill, clear up, count and print; return 1 if anything is left."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=200, help="of all builds together")
    parser.add_argument("--seed", type=int, default=1)
    builds = ["postgres@17.6", "mysql@9.7.4", "mariadb@11.8"]
    parser.add_argument("--builds", nargs="+", default=builds, metavar="DBMS@VERSION")
    options = parser.parse_args(arguments)
    chance = random.Random(options.seed)
    left: Counter[str] = Counter()
    ended = 0
    with tempfile.TemporaryDirectory(prefix="kills-") as results:
        lengths = {build: _whole_run(build, results) for build in options.builds}
        for number in range(options.kills):
            build = options.builds[number % len(options.builds)]
            before = set(_remains())
            after = chance.uniform(0, lengths[build] * _LONGER_THAN_A_RUN)
            ended += _killed(build, results, after)
            clean_leftovers()
            rest = set(_remains()) - before
            for kind, name in sorted(rest):
                print(f"left of {build}, killed after {after:.2f} s: {kind} {name}", flush=True)
                left[kind] += 1
    for build, seconds in lengths.items():
        print(f"{build}: a whole run takes {seconds:.1f} s")
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(left.items()))
    print(f"{options.kills} kills, of which {ended} came after the end: left {kinds or 'nothing'}")
    return int(bool(left))


def _command(build: str, results: str) -> list[str]:
    code = "from slowdust.cli.main import main; main()"
    name = f"killed-{time.monotonic_ns()}"
    words = ["compare", build, build, *_OPTIONS, *_NO_COUNTS, "--name", name, "--results", results]
    return [sys.executable, "-c", code, *words]


def _whole_run(build: str, results: str) -> Second:
    """Return how long a run takes that nobody kills; the first one fetches the build."""
    seconds = 0.0
    for _ in range(2):
        start = time.monotonic()
        subprocess.run(_command(build, results), check=True, capture_output=True)
        seconds = time.monotonic() - start
    return seconds


def _killed(build: str, results: str, after: Second) -> bool:
    """Start a run and kill it with its watchdog; return whether it had ended before."""
    run = subprocess.Popen(
        _command(build, results), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(after)
    with suppress(psutil.Error):  # it has ended
        for child in psutil.Process(run.pid).children():
            if "slowdust.instances.watchdog" in " ".join(child.cmdline()):
                child.kill()
    had_ended = run.poll() is not None
    run.kill()
    run.wait()
    return had_ended


def _remains() -> Iterator[tuple[str, str]]:
    """Yield what may be of a run: kind and name."""
    account = server_account()
    root = instances_root()
    for process in psutil.process_iter(["uids", "status", "cmdline"]):
        uids, words = process.info["uids"], process.info["cmdline"] or []
        if uids is None or process.info["status"] == psutil.STATUS_ZOMBIE:
            continue  # a zombie has ended: whoever inherited it has not asked for its end
        ours = str(root) in " ".join(words) or "slowdust-driver" in " ".join(words[:1])
        if ours or (uids.real == account.uid and account.uid != os.geteuid()):
            yield "process", f"{process.pid} {' '.join(words)[:80]}"
    for path in root.iterdir():
        if path.is_dir():
            yield "directory", str(path)
    for line in Path("/proc/sysvipc/shm").read_text(encoding="ascii").splitlines()[1:]:
        yield "System V segment", line.split()[1]
    for path in Path("/dev/shm").glob("PostgreSQL.*"):
        yield "file of /dev/shm", path.name
    for path in Path(tempfile.gettempdir()).glob("slowdust-*"):
        if not path.name.startswith("slowdust-test-"):
            yield "temporary file", str(path)


if __name__ == "__main__":
    print(f"{DATA_VARIABLE}: {instances_root()}")
    sys.exit(main())
