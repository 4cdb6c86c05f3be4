"""The run of a build's commands: as another user than root, with a log, progress, and an end."""

from __future__ import annotations

import os
import re
import selectors
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from slowdust.accounts import BASE_ENVIRONMENT, Account, ends_with_this_process
from slowdust.builds.compiling import recipe
from slowdust.builds.compiling.recipe import Step
from slowdust.builds.model import Progress
from slowdust.errors import SlowdustError
from slowdust.places import cache_root
from slowdust.units import Second, format_duration

COMPILER_CACHE = "ccache"
"""The folder of the cache that ccache keeps its objects in."""
_LAST_LINES = 15
SHOWN_EVERY: Second = 5.0
_LOOK_EVERY: Second = 1.0
END_WITHIN: Second = 10.0
_ENDED_EVERY: Second = 0.1
_NINJA = re.compile(rb"^\[(\d+)/(\d+)\] ", re.MULTILINE)
_MAKE_OF_CMAKE = re.compile(rb"^\[ *(\d+)%\] ", re.MULTILINE)
_COMPILED = re.compile(rb"^\S*(?:cc|\+\+|gcc|clang)\S* .* -c .*$", re.MULTILINE)
"""A command line of a C or C++ compiler, as make prints it."""


@dataclass
class Extent:
    """How far a command has come: of `total` files `done`, or percent."""

    done: int = 0
    total: int = 0

    def read(self, output: bytes) -> None:
        """Take the extent from a part of the output, whole lines."""
        if numbers := _NINJA.findall(output):
            self.done, self.total = map(int, numbers[-1])
        elif percent := _MAKE_OF_CMAKE.findall(output):
            self.done, self.total = int(percent[-1]), 100
        else:
            self.done += len(_COMPILED.findall(output))

    def __str__(self) -> str:
        return f" {self.done:,} of {self.total:,}" if 0 < self.done <= self.total else ""


class Runner:
    """Runs the commands of one build."""

    def __init__(self, account: Account, folder: Path, log: Path, progress: Progress) -> None:
        self._account = account
        self._folder = folder
        self._log = log
        self._progress = progress
        path = os.environ.get("PATH", os.defpath)
        self._environment = {
            **BASE_ENVIRONMENT,
            "PATH": path,
            "HOME": str(folder),  # by which `end_abandoned` knows them
            "CCACHE_DIR": str(cache_root() / COMPILER_CACHE),
        }
        self._extent = Extent()
        self._began = time.monotonic()
        self._shown = 0.0
        self._phase = ""

    def count(self, steps: list[Step]) -> None:
        commands: set[bytes] = set()
        for step in steps:
            if step.preview is not None:
                # What is made of generated files is not known yet, for which make fails.
                done = subprocess.run(
                    step.preview,
                    cwd=self._folder,
                    env={**self._environment, **step.environment},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    check=False,
                    preexec_fn=ends_with_this_process(),
                    **self._account.identity(),
                )
                commands |= set(_COMPILED.findall(done.stdout))
        # Several steps list what they all need, and the first compiles it.
        self._extent = Extent(total=len(commands))

    def run(self, step: Step) -> None:
        """Run a step to its end; its output goes to the log.

        Raises SlowdustError with the log's last lines when it fails. Whatever else ends this, such
        as Ctrl-C, ends the compilers too.
        """
        if step.phase != self._phase:
            self._show(step)
        with self._log.open("ab") as log:
            log.write(f"$ {shlex.join(step.command)}\n".encode())
            log.flush()
            with self._started(step.command, step.environment) as process:
                assert process.stdout is not None
                self._follow(process.stdout, log, step)
                code = process.wait()
        if code != 0:
            raise SlowdustError(self._failure(step, code))

    @contextmanager
    def _started(
        self, command: Sequence[str], environment: Mapping[str, str]
    ) -> Iterator[subprocess.Popen[bytes]]:
        process = subprocess.Popen(
            command,
            cwd=self._folder,
            env={**self._environment, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            umask=0o022,
            # make and ninja end the compilers then.
            preexec_fn=ends_with_this_process(signal.SIGTERM),  # noqa: PLW1509 - only system calls
            **self._account.identity(),
        )
        try:
            yield process
        except BaseException:
            _end(process)
            raise
        finally:
            if process.stdout is not None:
                process.stdout.close()

    def _follow(self, output: IO[bytes], log: IO[bytes], step: Step) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            rest = b""
            while True:
                if selector.select(_LOOK_EVERY):
                    chunk = os.read(output.fileno(), 1 << 16)
                    if not chunk:
                        return
                    log.write(chunk)
                    lines, newline, rest = (rest + chunk).rpartition(b"\n")
                    self._extent.read(lines + newline)
                if time.monotonic() - self._shown >= SHOWN_EVERY:
                    self._show(step)

    def _show(self, step: Step) -> None:
        self._shown, self._phase = time.monotonic(), step.phase
        extent = str(self._extent) if step.phase == "compiling" else ""
        self._progress(f"{step.phase}{extent}, {format_duration(round(self._shown - self._began))}")

    def _failure(self, step: Step, code: int) -> str:
        lines = self._log.read_text(errors="replace", encoding="utf-8").splitlines()
        remedy = recipe.remedy(lines)
        shown = "\n".join(f"    {line}" for line in lines[-_LAST_LINES:])
        program = Path(str(step.command[0])).name
        return (
            f"{step.phase} failed: {program} ended with code {code}"
            f"{f': {remedy}' if remedy else ''}\nThe log is {self._log}; its last lines:\n{shown}"
        )


def end_abandoned(folder: Path) -> None:
    """End the commands that a killed Slowdust ran in a folder, whose lock the caller holds."""
    end = time.monotonic() + END_WITHIN
    while (left := list(_running_in(folder))) and time.monotonic() < end:
        time.sleep(_ENDED_EVERY)
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left)


def _running_in(folder: Path) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):  # it has ended, or is another user's
            if process.environ().get("HOME") == str(folder):
                yield process


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(END_WITHIN)
    # Others of the group may be slower to end than its first process.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
