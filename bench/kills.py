"""What is left of a Slowdust that is killed at a random instant, after the next one has begun.

An experiment of a few seconds is killed by SIGKILL, with its watchdog, at an instant between its
start and its end: while it asks servers for their settings, makes data, loads, measures, stops,
clears up or writes the report. Then what every run does first is done, and all that is left is
counted: processes, directories, System V segments, files of /dev/shm and temporary files. So it is
with fetching a build, importing an archive and writing a report; after these the same command runs
once more, and its files must be those of a run that nobody killed.

    python -m bench.kills [--kills 200] [--builds postgres@17.6 mysql@9.7.4 mariadb@11.8]
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

import psutil

from slowdust.accounts import server_account
from slowdust.instances.leftovers import clean_leftovers
from slowdust.instances.owner import instances_root
from slowdust.places import CACHE_VARIABLE, DATA_VARIABLE
from slowdust.units import Second

SMALLEST = ("--kills", "3", "--builds", "postgres@17.6")

_OPTIONS = ("--tests", "point-query", "--rows", "1000", "--budget", "1s", "--incarnations", "2")
_NO_COUNTS = ("--count", "off", "--yes")
_LONGER_THAN_A_RUN = 1.05
"""Latest kill, in units of what a whole run took: some runs have ended by then."""
_EXPERIMENTS = 3
"""Experiments that are killed for each fetch, import and report of the same build."""


_TABLE = """col-1 : x.pg174_o2nofp.x10a_c32r128.pk1
col-2 : x.pg180_o2nofp.x10a_c32r128.pk1

col-1\tcol-2
62378\t61460\tpoint-query_range=100
"""
"""An archive: the rates of two runs."""


class _Again(Enum):
    """What follows a kill, beside what every run does first."""

    NOTHING = auto()
    COMPARED = auto()
    """The same command once more, whose files are compared with those of a run by itself."""


@dataclass
class _Command:
    """A command that is killed."""

    title: str
    words: Sequence[str]
    place: Path
    """The directory that it writes to."""
    again: _Again
    cache: Path | None = None
    """The cache of builds; None for the machine's own."""
    length: Second = 0.0
    """What a whole run takes."""
    names: frozenset[str] = frozenset()
    """Files of `place` after a whole run that began without any."""

    def start(self) -> subprocess.Popen[bytes]:
        """Start a run, whose words hold no `{}` but for a name that no other run has."""
        words = [word.format(time.monotonic_ns()) for word in self.words]
        code = "from slowdust.cli.main import main; main()"
        cache = {CACHE_VARIABLE: str(self.cache)} if self.cache else {}
        return subprocess.Popen(
            [sys.executable, "-c", code, *words],
            env=os.environ | cache,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def whole(self) -> None:
        """Run to the end.

        Raises:
            RuntimeError: it failed.
        """
        start = time.monotonic()
        with self.start() as run:
            errors = run.communicate()[1]
        if run.returncode:
            raise RuntimeError(f"{self.title}: {errors.decode()}")
        self.length = time.monotonic() - start

    def files(self) -> frozenset[str]:
        """Return the files below `place`, relative to it."""
        paths = (path for path in self.place.rglob("*") if not path.is_dir())
        return frozenset(str(path.relative_to(self.place)) for path in paths)

    def clear(self) -> None:
        """Remove what earlier runs wrote."""
        if self.again is _Again.COMPARED:
            shutil.rmtree(self.place, ignore_errors=True)
            self.place.mkdir(parents=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill, clear up, count and print; return 1 if anything is left."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=200, help="of all commands together")
    parser.add_argument("--seed", type=int, default=1)
    builds = ["postgres@17.6", "mysql@9.7.4", "mariadb@11.8"]
    parser.add_argument("--builds", nargs="+", default=builds, metavar="DBMS@VERSION")
    options = parser.parse_args(arguments)
    chance = random.Random(options.seed)
    left: Counter[str] = Counter()
    kills: Counter[str] = Counter()
    ended: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        Path(folder).chmod(0o755)  # the account of the servers reads the builds
        commands = _commands(options.builds, Path(folder))
        for number in range(options.kills):
            command = commands[number % len(commands)]
            after = chance.uniform(0, command.length * _LONGER_THAN_A_RUN)
            kills[command.title] += 1
            before = set(_remains())
            ended[command.title] += _killed(command, after)
            clean_leftovers()
            for kind, name in sorted({*(set(_remains()) - before), *_differing(command)}):
                print(f"left of {command.title}, killed after {after:.2f} s: {kind} {name}")
                sys.stdout.flush()
                left[kind] += 1
    for title, count in kills.items():
        lengths = {command.title: command.length for command in commands}
        print(f"{title} takes {lengths[title]:.1f} s: {count} kills, {ended[title]} after the end")
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(left.items()))
    print(f"{options.kills} kills: left {kinds or 'nothing'}")
    return int(bool(left))


def _commands(builds: Sequence[str], folder: Path) -> list[_Command]:
    """Return what is killed, in turn; each has run once, or twice if it fetches a build first."""
    commands = []
    for number, build in enumerate(builds):
        results, name = folder / f"results-{number}", "--name=whole"
        place = ("--results", str(results))
        compare = ("compare", build, build, *_OPTIONS, *_NO_COUNTS, *place)
        for named in (name, "--name=again"):
            experiment = _Command(
                f"an experiment of {build}", [*compare, named], results, _Again.NOTHING
            )
            experiment.whole()
        experiment.words = [*compare, "--name=killed-{}"]
        commands += [experiment] * _EXPERIMENTS
        commands += _others(build, results, folder / str(number))
    return commands


def _others(build: str, results: Path, folder: Path) -> Iterator[_Command]:
    """Yield fetching a build, importing an archive and writing reports."""
    classic, page = folder / "classic", folder / "report"
    imports, cache, archive = folder / "imports", folder / "cache", folder / "archive"
    archive.mkdir(parents=True)
    (archive / "qps.abs.tsv").write_text(_TABLE, encoding="utf-8")
    of = ("whole", "--results", str(results))
    reported = ["report", *of, "--classic", str(classic)]
    imported = ["import", "sysbench", str(archive), "--clients", "1"]
    imported += ["--results", str(imports)]
    paged = ["report", *of, "--html", str(page / "page.html"), "--junit", str(page / "units.xml")]
    for command in (
        _Command(f"fetching {build}", ["builds", "get", build], cache, _Again.COMPARED, cache),
        _Command(f"an import beside {build}", imported, imports, _Again.COMPARED),
        _Command(f"classic files of {build}", reported, classic, _Again.COMPARED),
        _Command(f"a page of {build}", paged, page, _Again.COMPARED),
    ):
        command.clear()
        command.whole()
        command.names = command.files()
        yield command


def _killed(command: _Command, after: Second) -> bool:
    """Start a run and kill it with its watchdog; return whether it had ended before."""
    command.clear()
    with command.start() as run:
        time.sleep(after)
        with suppress(psutil.Error):  # it has ended
            for child in psutil.Process(run.pid).children():
                if "slowdust.instances.watchdog" in " ".join(child.cmdline()):
                    child.kill()
        had_ended = run.poll() is not None
        run.kill()
    return had_ended


def _differing(command: _Command) -> Iterator[tuple[str, str]]:
    """Yield what the command wrote, run once more, and a run by itself did not, or inversely."""
    if command.again is _Again.NOTHING:
        return
    length = command.length
    try:
        command.whole()
    except RuntimeError as error:
        yield "failure", str(error)
    command.length = length
    for name in command.files() ^ command.names:
        yield "file", name


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
    for path in Path(tempfile.gettempdir()).iterdir():
        is_ours = path.name.startswith(("slowdust-", ".slowdust-"))
        if is_ours and not path.name.startswith("slowdust-test-"):
            yield "temporary file", str(path)


if __name__ == "__main__":
    print(f"{DATA_VARIABLE}: {instances_root()}", flush=True)
    sys.exit(main())
