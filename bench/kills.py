"""Leftovers of Slowdust after it is stopped at a random instant.

Each command that starts servers or writes folders is stopped at an instant between its start and
its end: while it queries servers for their settings, creates data, loads, measures, stops servers,
cleans up or writes a report. SIGKILL is sent to the command and its watchdog; then the clean-up at
the start of every run is called. The command itself handles SIGINT and SIGTERM. All leftovers are
counted: processes, directories, System V segments, files of /dev/shm and temporary files.

Commands that write files for others must have written all of them or none. After fetching a build,
an import of an archive, a site or a report, the same command runs again, and its files must equal
the files of a run that was not stopped.

    python -m bench.kills [--kills 100] [--builds postgres@17.6] [--only merge bundle]

Only leftovers of these commands are counted. They have their own directories for data and temporary
files, and if started by root their servers have their own account (SLOWDUST_USER): segments and
files of /dev/shm are identified by their owner.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache, partial
from pathlib import Path

import psutil

from slowdust.accounts import USER_VARIABLE, server_account
from slowdust.instances.leftovers import clean_leftovers
from slowdust.instances.owner import instances_root
from slowdust.places import CACHE_VARIABLE, CLAIMS_VARIABLE, DATA_VARIABLE
from slowdust.temporary import remove_abandoned
from slowdust.units import Second

SMALLEST = ("--kills", "3", "--builds", "postgres@17.6")

_SQLITE = ("sqlite@3.50.2", "sqlite@3.51.3")
"""The contenders of commands that do not depend on the DBMS."""
_TEST = ("--rows", "300", "--tests", "point-query")
_OPTIONS = (*_TEST, "--budget", "1s", "--incarnations", "2", "--count", "off", "--yes")
_SERIES = ("--rows", "300", "--budget", "2s")
_LONGER_THAN_A_RUN = 1.05
"""The latest stop, relative to a whole run: some runs have finished by then."""
_SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
_ANSWERS_WITHIN: Second = 120.0
_LOOKS_EVERY: Second = 0.2
_TABLE = """col-1 : x.pg174_o2nofp.x10a_c32r128.pk1
col-2 : x.pg180_o2nofp.x10a_c32r128.pk1

col-1\tcol-2
62378\t61460\tpoint-query_range=100
"""
"""An archive with the rates of two runs."""
_EXPERIMENT = """contenders = ["sqlite@3.50.2", "sqlite@3.51.3"]
tests = ["point-query"]
rows = 300
budget = "1s"
incarnations = 2
count = "off"
"""
_WATCH = """tests = ["point-query"]
rows = 300
budget = "1s"
incarnations = 2
count = "off"

[watch]
name = "nightly"
releases = "sqlite@3.50.2..3.51.3"
"""
_WORKLOAD = """[tables.customers]
rows = 300_000
primary_key = "id"
columns.id = { type = "int", by = "serial" }
columns.name = { type = "varchar(40)", by = "text", length = [8, 30] }

[statements.customer]
sql = "SELECT name FROM customers WHERE id = :customer"
parameters.customer = { of = "customers.id" }
result = { rows = 1 }

[tests.customer]
group = "point"
statements = ["customer"]
"""
_ENDS_WITHIN: Second = 30.0
"""The time for processes that exit by themselves, such as a watchdog that just started."""


class _After(Enum):
    """The expected files of a command that was stopped."""

    ANY = auto()
    """An experiment that can be resumed."""
    ALL_OR_NONE = auto()
    """The files before the run, or of a whole run."""
    REPAIRED = auto()
    """After running the command again, the files of a whole run."""


@dataclass
class _Command:
    """A command to stop."""

    title: str
    words: Sequence[str]
    place: Path
    """The directory that it writes to."""
    after: _After = _After.ANY
    inputs: Callable[[], object] = dict
    """Creates the files that it reads, if they are missing."""
    seed: Path | None = None
    """The initial content of the place, one of the inputs; None for an empty directory."""
    cache: Path | None = None
    """The cache of builds; None for the machine's own."""
    length: Second = 0.0
    """The time of a whole run; 0 before the first one."""
    before: frozenset[str] = frozenset()
    """The files of the place before a run."""
    whole: frozenset[str] = frozenset()
    """The files of the place after a whole run."""
    ends: Counter[str] = field(default_factory=Counter)
    """The numbers of signals, and of runs that finished earlier."""

    def start(self) -> subprocess.Popen[bytes]:
        """Start a run."""
        code = "from slowdust.cli.main import main; main()"
        own = {CACHE_VARIABLE: str(self.cache)} if self.cache else {}
        return subprocess.Popen(
            [sys.executable, "-c", code, *self.words],
            env=os.environ | own,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def run(self) -> None:
        """Run to the end.

        Raises:
            RuntimeError: it failed.
        """
        with self.start() as run:
            errors = run.communicate()[1]
        if run.returncode:
            raise RuntimeError(f"{self.title}: {errors.decode()}")

    def measure(self) -> None:
        """Run it in a new place, unless that was done, to get its time and its files.

        Raises:
            RuntimeError: it failed.
        """
        if not self.length:
            self.inputs()
            self.clear()
            self.before = self.files()
            start = time.monotonic()
            self.run()
            self.length = time.monotonic() - start
            self.whole = self.files()

    def files(self) -> frozenset[str]:
        """Return the files below the place, relative to it."""
        paths = (path for path in self.place.rglob("*") if not path.is_dir())
        return frozenset(str(path.relative_to(self.place)) for path in paths)

    def clear(self) -> None:
        """Reset the place to its initial content."""
        shutil.rmtree(self.place, ignore_errors=True)
        if self.seed is None:
            self.place.mkdir(parents=True)
        else:
            shutil.copytree(self.seed, self.place)


def main(arguments: Sequence[str] | None = None) -> int:
    """Stop commands, clean up, count and print; return 1 if there are leftovers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=100, help="of all commands together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--builds", nargs="+", default=["postgres@17.6"], metavar="DBMS@VERSION")
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="of their titles")
    options = parser.parse_args(arguments)
    chance = random.Random(options.seed)
    left: Counter[str] = Counter()
    with _own_folder() as folder:
        commands = [
            command
            for command in _commands(options.builds, folder)
            if not options.only or {*options.only} & {*command.title.split()}
        ]
        for number in range(options.kills):
            command = commands[number % len(commands)]
            command.measure()
            after = chance.uniform(0, command.length * _LONGER_THAN_A_RUN)
            by = chance.choice(_SIGNALS)
            print(f"{command.title}: {by.name} after {after:.2f} s", flush=True)
            for kind, what in _left_by(command, after, by):
                print(f"  left: {kind} {what}", flush=True)
                left[kind] += 1
    for command in commands:
        if command.length:
            ends = ", ".join(f"{count} {kind}" for kind, count in sorted(command.ends.items()))
            print(f"{command.title} takes {command.length:.1f} s: {ends}")
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(left.items()))
    print(f"{options.kills} kills: left {kinds or 'nothing'}")
    return int(bool(left))


@contextmanager
def _own_folder() -> Iterator[Path]:
    """Set up separate directories and a separate account for servers, for child processes."""
    variables, usual = dict(os.environ), tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # the servers' account reads the builds
        temporary = folder / "t"
        temporary.mkdir()
        temporary.chmod(0o1777)
        os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
        os.environ[DATA_VARIABLE] = str(folder / "data")
        os.environ[CLAIMS_VARIABLE] = str(folder / "claims")
        if os.geteuid() == 0:
            os.environ.setdefault(USER_VARIABLE, "nobody")
        try:
            yield folder
        finally:
            tempfile.tempdir = usual
            os.environ.clear()
            os.environ.update(variables)


def _commands(builds: Sequence[str], folder: Path) -> Iterator[_Command]:
    """Yield the commands to stop, in turn."""
    for number, build in enumerate(builds):
        place = folder / f"compare-{number}"
        yield _Command(f"compare {build}", _compare("killed", place, build, build), place)
    seed, bundle = folder / "seed", folder / "whole.slowdust"
    inputs = cache(partial(_make_inputs, seed, bundle))
    for command in (*_servers(folder, seed), *_writers(folder, seed, bundle)):
        command.inputs = inputs
        yield command
    for number, build in enumerate(builds):
        place = folder / f"cache-{number}"
        words = ["builds", "get", build]
        yield _Command(f"get {build}", words, place, _After.REPAIRED, cache=place)


def _servers(folder: Path, seed: Path) -> Iterator[_Command]:
    """Yield the commands that start servers."""
    experiment, watch, workload = (folder / f"{name}.toml" for name in ("one", "watch", "shop"))
    experiment.write_text(_EXPERIMENT, encoding="utf-8")
    watch.write_text(_WATCH, encoding="utf-8")
    workload.write_text(_WORKLOAD, encoding="utf-8")
    places = {name: folder / name for name in ("run", "bisect", "blame", "watch", "capacity")}
    more, resumed, calibration = folder / "more", folder / "resume", folder / "calibrate"

    def in_results(place: Path) -> list[str]:
        return ["--results", str(place)]

    def words(name: str, *arguments: str) -> _Command:
        return _Command(name, [name, *arguments, *in_results(places[name])], places[name])

    yield words("run", str(experiment), "--yes")
    yield _Command(
        "more", ["more", "whole", "--budget", "1s", "--yes", *in_results(more)], more, seed=seed
    )
    yield _Command(
        "run --resume",
        ["run", "stopped", "--resume", "--yes", *in_results(resumed)],
        resumed,
        seed=seed,
    )
    ends = "sqlite@3.50.2..3.51.3"
    yield words("bisect", ends, "--test", "point-query", *_SERIES)
    yield words("blame", ends, "--tests", "point-query", "--count", "off", *_SERIES)
    yield words("watch", str(watch))
    yield words(
        "capacity", _SQLITE[0], "--sla", "p99<1s", "--test", "point-query", "--incarnations", "2",
        *_SERIES,
    )  # fmt: skip
    yield _Command(
        "calibrate",
        ["calibrate", _SQLITE[0], *_TEST, "--budget", "2s", *in_results(calibration)],
        calibration,
    )
    yield _Command(
        "workloads check",
        ["workloads", "check", str(workload), "--on", _SQLITE[0]],
        folder / "check",
        _After.ALL_OR_NONE,
    )


def _writers(folder: Path, seed: Path, bundle: Path) -> Iterator[_Command]:
    """Yield the commands that only write files."""
    archive = folder / "archive"
    archive.mkdir()
    (archive / "qps.abs.tsv").write_text(_TABLE, encoding="utf-8")
    of_seed = ("--results", str(seed))
    merged, bundled, imported = folder / "merge", folder / "bundle", folder / "import"
    here, site, classic, page = (folder / name for name in ("here", "site", "classic", "page"))
    hosts = ("--host", "whole=alpha", "--host", "again=beta")
    yield _Command(
        "merge",
        ["merge", "whole", "again", "--name", "both", *hosts, "--results", str(merged)],
        merged,
        _After.ALL_OR_NONE,
        seed=seed,
    )
    yield _Command(
        "bundle",
        ["bundle", "whole", "-o", str(bundled / "whole.slowdust"), *of_seed],
        bundled,
        _After.ALL_OR_NONE,
    )
    yield _Command(
        "import bundle",
        ["import", "bundle", str(bundle), "--results", str(here)],
        here,
        _After.ALL_OR_NONE,
    )
    yield _Command(
        "import sysbench",
        ["import", "sysbench", str(archive), "--clients", "1", "--results", str(imported)],
        imported,
        _After.REPAIRED,
    )
    yield _Command("site", ["site", str(site), *of_seed], site, _After.REPAIRED)
    yield _Command(
        "report --classic",
        ["report", "whole", "--classic", str(classic), *of_seed],
        classic,
        _After.REPAIRED,
    )
    files = ("--html", str(page / "page.html"), "--junit", str(page / "units.xml"))
    yield _Command("report --html", ["report", "whole", *files, *of_seed], page, _After.REPAIRED)


def _compare(name: str, results: Path, *contenders: str) -> list[str]:
    return ["compare", *contenders, *_OPTIONS, "--name", name, "--results", str(results)]


def _make_inputs(results: Path, bundle: Path) -> None:
    """Measure two experiments, `whole` and `again`, and one that is stopped; bundle one."""
    results.mkdir()
    for name in ("whole", "again"):
        _Command(name, _compare(name, results, *_SQLITE), results).run()
    words = ["bundle", "whole", "-o", str(bundle), "--results", str(results)]
    _Command("bundle", words, results).run()
    slices = results / "stopped" / "slices.ndjson"
    with _Command("stopped", _compare("stopped", results, *_SQLITE), results).start() as run:
        while not (slices.exists() and slices.stat().st_size) and run.poll() is None:
            time.sleep(0.01)
        run.terminate()
        run.communicate()


def _left_by(command: _Command, after: Second, by: signal.Signals) -> Iterator[tuple[str, str]]:
    """Stop a run, and yield the kind and name of each leftover."""
    command.clear()
    before = set(_remains())
    with command.start() as run:
        with suppress(subprocess.TimeoutExpired):
            run.wait(after)
        if by is signal.SIGKILL:
            _kill_watchdogs(run.pid)
        command.ends[by.name if run.poll() is None else "finished before"] += 1
        run.send_signal(by)
        try:
            run.communicate(timeout=_ANSWERS_WITHIN)
        except subprocess.TimeoutExpired:
            yield "process", f"{run.pid}, which still runs after {by.name}"
            run.kill()
    if by is signal.SIGKILL:
        clean_leftovers()
        remove_abandoned(command.place)
    deadline = time.monotonic() + _ENDS_WITHIN
    while (left := set(_remains()) - before) and time.monotonic() < deadline:
        time.sleep(_LOOKS_EVERY)
    yield from sorted(left)
    if command.after is _After.ALL_OR_NONE and command.files() not in (
        command.before,
        command.whole,
    ):
        yield from (("file", name) for name in sorted(command.files() - command.before))
    if command.after is _After.REPAIRED:
        try:
            command.run()
        except RuntimeError as error:
            yield "failure", str(error)
        yield from (("file", name) for name in sorted(command.files() ^ command.whole))


def _kill_watchdogs(owner: int) -> None:
    with suppress(psutil.Error):  # it has exited
        for child in psutil.Process(owner).children():
            if "slowdust.instances.watchdog" in " ".join(child.cmdline()):
                child.kill()


def _remains() -> Iterator[tuple[str, str]]:
    """Yield possible leftovers of a run: kind and name."""
    temporary = Path(tempfile.gettempdir())
    folder, account = temporary.parent, server_account()
    for process in psutil.process_iter(["status", "cmdline"]):
        words = " ".join(process.info["cmdline"] or [])
        # A zombie has exited: its parent has not waited for it.
        if process.info["status"] == psutil.STATUS_ZOMBIE or process.pid == os.getpid():
            continue
        if str(folder) in f"{words} {_working_directory(process)} {_temporary_root(process)}":
            yield "process", f"{process.pid} {words[:80]}"
    for path in instances_root().iterdir():
        if path.is_dir():
            yield "directory", str(path)
    head, *lines = Path("/proc/sysvipc/shm").read_text(encoding="ascii").splitlines()
    for line in lines:
        segment = dict(zip(head.split(), map(int, line.split()), strict=False))
        if segment["uid"] == account.uid and not segment["nattch"]:
            yield "System V segment", str(segment["shmid"])
    for path in Path("/dev/shm").glob("PostgreSQL.*"):
        with suppress(FileNotFoundError):
            if path.stat(follow_symlinks=False).st_uid == account.uid:
                yield "file of /dev/shm", path.name
    for path in temporary.iterdir():
        yield "temporary file", str(path)


def _working_directory(process: psutil.Process) -> str:
    with suppress(psutil.Error, OSError):
        return process.cwd()
    return ""


def _temporary_root(process: psutil.Process) -> str:
    with suppress(psutil.Error, OSError):
        return process.environ().get("TMPDIR", "")
    return ""


if __name__ == "__main__":
    sys.exit(main())
