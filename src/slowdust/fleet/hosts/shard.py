"""What a host does for a fleet: the ordinary commands of Slowdust, each a process of its own.

A shard is an experiment in a results folder of the host. Its files are handed on while they grow:
complete lines of those that are appended to, the others whole when they change.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec.structs import replace

from slowdust import __version__
from slowdust.accounts import ends_with_this_process
from slowdust.builds import handed_on
from slowdust.errors import SlowdustError, UsageError
from slowdust.experiment import host_calibrations
from slowdust.experiment.claims.locks import holders_here
from slowdust.experiment.doctor import examine
from slowdust.experiment.doctor.host import read_host
from slowdust.fleet.model import End, Ended, HostFacts, Order, Part, Weight
from slowdust.places import DATA_VARIABLE, data_root, make_enterable, within
from slowdust.probes.host.machine import read_machine
from slowdust.store.folder import (
    COUNTS_FILE,
    MANIFEST_FILE,
    PROFILES,
    SLICES_FILE,
    SPEC_FILE,
    WAITS_FILE,
    WORKLOAD_FILE,
    Folder,
    replace_file,
)
from slowdust.units import Second

APPENDED = (SLICES_FILE, COUNTS_FILE, WAITS_FILE)
_LOOK_EVERY: Second = 0.5
_PREDECESSOR_ENDS_WITHIN: Second = 60.0
"""Time in which a run ends whose head was killed, and stops its servers."""
_LONGEST_COMPLAINT = 2000
_COMPLAINT = "slowdust: "
"""The beginning of the line by which a command says why it failed."""


def host_facts() -> HostFacts:
    """Return the facts of this host with the findings of its checks, which take two seconds.

    A shard that was stopped, or whose head was killed, ends first: its servers would be found.

    Raises:
        SlowdustError: the data root cannot be made.
    """
    for folder in (data_root() / "fleet").glob("*/*/"):
        with suppress(UsageError):
            _wait_for_predecessor(Folder(folder))
    return replace(plain_facts(), findings=examine(read_host(data_root())))


def plain_facts() -> HostFacts:
    """Return the facts of this host without any check, so that nothing that runs is disturbed.

    Raises:
        SlowdustError: the data root cannot be made.
    """
    make_enterable(data_root(), DATA_VARIABLE)
    machine = read_machine(data_root(), watch_s=0.0)
    return HostFacts(
        slowdust=__version__,
        cpu=machine.cpu_model,
        cpus=machine.usable_cpus,
        free_bytes=machine.storage.free_bytes,
        measuring="; ".join(map(str, holders_here())) or None,
        calibrated=host_calibrations.newest_sentence(),
        weights=[
            Weight(
                test=kept.needed.test,
                clients=kept.needed.clients,
                dbms=kept.dbms,
                rows=kept.rows,
                weight=kept.needed.seconds * kept.needed.half_width**2,
            )
            for kept in host_calibrations.all_kept()
        ],
    )


def calibrated(arguments: Sequence[str]) -> str:
    """Calibrate this host as `slowdust calibrate` does, with its arguments; return what it prints.

    Raises:
        SlowdustError: it failed; has its reason.
    """
    make_enterable(data_root(), DATA_VARIABLE)
    results = data_root() / "fleet" / "calibrations"
    command = [sys.executable, "-m", "slowdust", "calibrate", "--results", str(results)]
    done = subprocess.run(
        [*command, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        preexec_fn=ends_with_this_process(signal.SIGTERM),
    )
    if done.returncode:
        raise SlowdustError(_complaint(done.stderr))
    return done.stdout


def measured(order: Order) -> Iterator[Part | Ended]:
    """Measure a shard, or what is left of it; yield what the head lacks, and `Ended` at last."""
    results = _results(order.experiment)
    folder = Folder(within(results, order.folder))
    try:
        _wait_for_predecessor(folder)
        sent = Sent(folder.path, dict(order.have))
        if order.started is not None and _started(folder) != order.started:
            yield Ended(end=End.GONE, reason="what was begun there is no longer there")
            return
        if not _is_finished(folder):
            with _running(order, results, folder) as process:
                while process.poll() is None:
                    time.sleep(_LOOK_EVERY)
                    yield from sent.changes()
        yield from sent.changes()
        yield _ended(folder, results)
    except (OSError, SlowdustError) as error:
        yield failure(error)


def failure(error: OSError | SlowdustError) -> Ended:
    """Return the end of a shard that failed; a host whose disk is full can do nothing more."""
    return _failure(str(error), full=_is_full(error))


def forget(experiment: str) -> None:
    """Remove what this host has of an experiment."""
    shutil.rmtree(_results(experiment), ignore_errors=True)


def _results(experiment: str) -> Path:
    return within(data_root(), "fleet", experiment)


def _log(results: Path, folder: Folder) -> Path:
    return results / f"{folder.name}.log"


def _wait_for_predecessor(folder: Folder) -> None:
    """Wait until a run whose head was killed has let go of its folder.

    Raises:
        UsageError: it does not.
    """
    end = time.monotonic() + _PREDECESSOR_ENDS_WITHIN
    while True:
        try:
            folder.refuse_if_running()
        except UsageError:
            if time.monotonic() > end:
                raise
            time.sleep(_LOOK_EVERY)
        else:
            return


def _started(folder: Folder) -> str | None:
    return folder.read_manifest().started if folder.has_manifest() else None


def _is_finished(folder: Folder) -> bool:
    return folder.has_manifest() and folder.read_manifest().finished is not None


@contextmanager
def _running(order: Order, results: Path, folder: Folder) -> Iterator[subprocess.Popen[bytes]]:
    """Run `slowdust run` for a shard; it stops its servers and ends with the context."""
    make_enterable(results, DATA_VARIABLE)
    spec, builds = results / f"{order.folder}.toml", results / f"{order.folder}.builds.json"
    own = {spec.name: order.spec.encode(), builds.name: handed_on.encoded(order.builds)}
    for name, content in {**order.files, **own}.items():
        replace_file(within(results, name), content)
    command = [sys.executable, "-m", "slowdust", "run", "--yes", "--results", str(results)]
    command += [str(folder.spec_file), "--resume"] if folder.has_manifest() else [str(spec)]
    with _log(results, folder).open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            env={**os.environ, handed_on.VARIABLE: str(builds)},
            start_new_session=True,
            preexec_fn=ends_with_this_process(signal.SIGTERM),  # noqa: PLW1509 - only system calls
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_PREDECESSOR_ENDS_WITHIN)
            process.kill()
            process.wait()


def _ended(folder: Folder, results: Path) -> Ended:
    if _is_finished(folder):
        return Ended(end=End.FINISHED)
    text = _log(results, folder).read_text(errors="replace", encoding="utf-8")
    reason = _complaint(text)
    full = os.strerror(errno.ENOSPC) in reason or os.strerror(errno.EDQUOT) in reason
    return _failure(reason, full=full)


def _complaint(text: str) -> str:
    """Return why a command failed, by what it wrote to its standard error."""
    complaints = [line for line in text.splitlines() if line.startswith(_COMPLAINT)]
    reason = complaints[-1].removeprefix(_COMPLAINT) if complaints else text.strip()
    return reason[-_LONGEST_COMPLAINT:] or "it ended without a word"


def _failure(reason: str, *, full: bool) -> Ended:
    return Ended(end=End.UNFIT if full else End.FAILED, reason=reason)


def _is_full(error: BaseException) -> bool:
    cause = error if isinstance(error, OSError) else error.__cause__
    return isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT)


class Sent:
    """What the head has of a folder's files."""

    def __init__(self, folder: Path, have: dict[str, int]) -> None:
        self._folder = folder
        self._have = have
        self._states: dict[str, tuple[int, int]] = {}

    def changes(self) -> Iterator[Part]:
        """Yield what is new, a slice's contender in the manifest before the slice."""
        whole = [MANIFEST_FILE, SPEC_FILE, WORKLOAD_FILE]
        profiles = sorted((self._folder / PROFILES).glob("*.json.gz"))
        whole += [str(path.relative_to(self._folder)) for path in profiles]
        for file in whole:
            yield from self._replaced(file)
        for file in APPENDED:
            yield from self._appended(file)

    def _replaced(self, file: str) -> Iterator[Part]:
        path = self._folder / file
        with suppress(FileNotFoundError):
            status = path.stat()
            state = status.st_mtime_ns, status.st_ino
            if self._states.get(file) != state:
                content = path.read_bytes()
                self._states[file] = state
                yield Part(file=file, content=content)

    def _appended(self, file: str) -> Iterator[Part]:
        begin = self._have.get(file, 0)
        with suppress(FileNotFoundError), (self._folder / file).open("rb") as lines:
            lines.seek(begin)
            content = lines.read()
            content = content[: content.rfind(b"\n") + 1]
            if content:
                self._have[file] = begin + len(content)
                yield Part(file=file, content=content, offset=begin)
