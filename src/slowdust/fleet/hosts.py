"""The work of a host for a fleet: ordinary Slowdust commands, each in its own process.

A shard is an experiment in a results folder of the host. After each start and at the end, the head
receives everything measured so far as a bundle.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec.structs import replace

from slowdust import __version__
from slowdust.accounts import ends_with_this_process
from slowdust.builds import pushed
from slowdust.errors import SlowdustError, UsageError
from slowdust.experiment import host_calibrations
from slowdust.experiment.doctor import examine
from slowdust.experiment.doctor.host import read_host
from slowdust.experiment.host_locks import holders_here
from slowdust.fleet.cluster import (
    End,
    HostFacts,
    ShardBundle,
    ShardEnded,
    ShardOrder,
    complete_starts,
)
from slowdust.places import DATA_VARIABLE, data_root, make_enterable, within
from slowdust.probes.host.machine import read_machine
from slowdust.store.bundle import pack
from slowdust.store.folder import Folder
from slowdust.store.storage import replace_file
from slowdust.temporary import temporary_folder
from slowdust.units import Second

_LOOK_EVERY: Second = 0.5
_STOPS_WITHIN: Second = 60.0
"""Time for a command to stop its servers after SIGTERM, or after its head has exited."""
_LONGEST_MESSAGE = 2000
_ERROR_PREFIX = "slowdust: "
"""The prefix of a command's error message."""
_FULL = (errno.ENOSPC, errno.EDQUOT)


def host_facts() -> HostFacts:
    """Return the facts of this host and the findings of its checks, which takes two seconds.

    Running shards of killed heads stop first, so that the checks do not find their servers.

    Raises:
        SlowdustError: the data root cannot be created.
        SlowdustError: the data root cannot be created.
    """
    for results in (data_root() / "fleet").glob("*/"):
        _wait_until_all_free(results)
    return replace(plain_facts(), findings=examine(read_host(data_root())))


def plain_facts() -> HostFacts:
    """Return the facts of this host without checks, which would disturb measurements.

    Raises:
        SlowdustError: the data root cannot be created.
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
    )


def calibrated(arguments: Sequence[str]) -> str:
    """Calibrate this host like `slowdust calibrate` with these arguments; return its output.

    Raises:
        SlowdustError: the calibration failed; has its error message.
    """
    make_enterable(data_root(), DATA_VARIABLE)
    results = data_root() / "fleet" / "calibrations"
    with temporary_folder() as folder:
        output, log = folder / "output", folder / "log"
        command = ["calibrate", "--results", str(results), *arguments]
        with _running(command, log, output) as process:
            code = process.wait()
        if code:
            raise SlowdustError(_error_message(log))
        return output.read_text(encoding="utf-8", errors="replace")


def measure(order: ShardOrder) -> Iterator[ShardBundle | ShardEnded]:
    """Measure or resume a shard; yield a bundle after each start, and `ShardEnded` last."""
    results = within(data_root(), "fleet", order.experiment)
    folder = Folder(within(results, order.folder))
    log = results / f"{folder.name}.log"
    try:
        _wait_until_free(folder)
        started = folder.read_manifest().started if folder.has_manifest() else None
        if order.started not in (None, started):
            yield ShardEnded(end=End.GONE, reason="it no longer has its measurements")
            return
        if not _is_finished(folder):
            yield from _measured(order, results, folder, log)
        if folder.has_manifest():
            yield _bundle(folder)
        if _is_finished(folder):
            yield ShardEnded(end=End.FINISHED)
            return
        reason = _error_message(log)
        is_full = any(os.strerror(number) in reason for number in _FULL)
        yield ShardEnded(end=End.DISK_FULL if is_full else End.FAILED, reason=reason)
    except (OSError, SlowdustError) as error:
        yield failure(error)


def failure(error: OSError | SlowdustError) -> ShardEnded:
    cause = error if isinstance(error, OSError) else error.__cause__
    is_full = isinstance(cause, OSError) and cause.errno in _FULL
    return ShardEnded(end=End.DISK_FULL if is_full else End.FAILED, reason=str(error))


def forget(experiment: str) -> None:
    """Remove this host's files of an experiment, after its servers have stopped."""
    results = within(data_root(), "fleet", experiment)
    _wait_until_all_free(results)
    shutil.rmtree(results, ignore_errors=True)


def _wait_until_all_free(results: Path) -> None:
    for folder in results.glob("*/"):
        with suppress(UsageError):
            _wait_until_free(Folder(folder))


def _wait_until_free(folder: Folder) -> None:
    """Wait until the run of a killed head has released its folder.

    Raises:
        UsageError: it does not.
    """
    end = time.monotonic() + _STOPS_WITHIN
    while True:
        try:
            folder.refuse_if_running()
        except UsageError:
            if time.monotonic() > end:
                raise
            time.sleep(_LOOK_EVERY)
        else:
            return


def _is_finished(folder: Folder) -> bool:
    return folder.has_manifest() and folder.read_manifest().finished is not None


def _measured(order: ShardOrder, results: Path, folder: Folder, log: Path) -> Iterator[ShardBundle]:
    """Run `slowdust run` for a shard to its end; yield a bundle after each start but the last."""
    make_enterable(results, DATA_VARIABLE)
    spec, builds = results / f"{order.folder}.toml", results / f"{order.folder}.builds.json"
    own = {spec.name: order.spec.encode(), builds.name: pushed.encoded(order.builds)}
    for name, content in {**order.files, **own}.items():
        replace_file(within(results, name), content)
    what = [str(folder.spec_file), "--resume"] if folder.has_manifest() else [str(spec)]
    command = ["run", "--yes", "--results", str(results), *what]
    sent = 0
    with _running(command, log, variables={pushed.VARIABLE: str(builds)}) as process:
        while process.poll() is None:
            time.sleep(_LOOK_EVERY)
            if not folder.has_manifest():
                continue
            complete = complete_starts(folder.read_manifest(), order.steps)
            if complete > sent:
                sent = complete
                yield _bundle(folder)


def _bundle(folder: Folder) -> ShardBundle:
    with temporary_folder(folder.path.parent) as place:
        file = place / "bundle"
        pack(folder, file)
        return ShardBundle(content=file.read_bytes())


@contextmanager
def _running(
    arguments: Sequence[str],
    log: Path,
    output: Path = Path(os.devnull),
    variables: Mapping[str, str] | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a Slowdust command, with its standard error in a log; it stops with the context."""
    with log.open("wb") as errors, output.open("wb") as printed:
        process = subprocess.Popen(
            [sys.executable, "-m", "slowdust", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=errors,
            env={**os.environ, **(variables or {})},
            start_new_session=True,
            preexec_fn=ends_with_this_process(signal.SIGTERM),  # noqa: PLW1509 - only system calls
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_STOPS_WITHIN)
        with suppress(ProcessLookupError):
            # A killed compiler driver leaves the compiler itself in this session.
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _error_message(log: Path) -> str:
    """Return the error message of a failed command, from its standard error."""
    text = log.read_text(errors="replace", encoding="utf-8")
    messages = [line for line in text.splitlines() if line.startswith(_ERROR_PREFIX)]
    reason = messages[-1].removeprefix(_ERROR_PREFIX) if messages else text.strip()
    return reason[-_LONGEST_MESSAGE:] or "it exited without an error message"
