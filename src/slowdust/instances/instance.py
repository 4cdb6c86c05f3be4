"""One contender's server: its data, its log, its process; the same for every family."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from slowdust.accounts import COMMON, Account, server_account
from slowdust.builds.model import Build
from slowdust.dbms import family as family_of
from slowdust.dbms.access import Access, Listen, Target, free_loopback_port
from slowdust.dbms.environment import Environment, check_loadable
from slowdust.dbms.family import Shutdown, Site
from slowdust.dbms.settings import AcceptedSettings, Settings
from slowdust.errors import SlowdustError
from slowdust.instances.allocators import (
    AllocatorError,
    Malloc,
    at_work,
    check_at_work,
    check_replaceable,
    find_malloc,
)
from slowdust.instances.leftovers import kill_at_work, remove_tree
from slowdust.instances.processes import ProcessMark
from slowdust.instances.rundir import RunDirectory

SOCKET_PORT = 5432
"""Of a server that listens on its socket alone: Postgres names the socket after it, MySQL only
wants one. Sockets are told apart by their directories."""
_CREATE_TIMEOUT_S = 300.0
_START_TIMEOUT_S = 120.0
_ORDERLY_END_S = 120.0
_FORCED_END_S = 15.0
_POLL_S = 0.01
_LOG_TAIL_LINES = 10
_CREATION_LOG = "creation.log"


class InstanceError(SlowdustError):
    """A server that could not be made, started, kept alive or stopped."""


class Instance:
    """The server of one contender; it can be started and stopped many times."""

    def __init__(
        self,
        name: str,
        run: RunDirectory,
        directory: Path,
        site: Site,
        environment: Environment,
    ) -> None:
        self.name = name
        self.directory = directory
        self.log_path = directory / "log" / "server.log"
        self._run = run
        self._site = site
        self.environment = environment
        self._malloc: Malloc | None = None
        self._allocator: str | None = None
        self._family = family_of(site.build.dbms)
        self._process: subprocess.Popen[bytes] | None = None
        self._log_offset = 0

    @classmethod
    def create(
        cls,
        run: RunDirectory,
        name: str,
        build: Build,
        settings: Settings,
        *,
        engine: str | None = None,
        access: Access | None = None,
        environment: Environment | None = None,
    ) -> Instance:
        """Make the data directory of a contender; the server is not started.

        Raises UsageError for settings that the build refuses, for a malloc library that it cannot
        have, and for files that its dynamic loader cannot be told of; InstanceError when its data
        cannot be made.
        """
        account = server_account()
        access = access or Access.make()
        environment = environment or Environment()
        preloaded = [] if environment.library is None else [environment.library]
        check_loadable([*build.runtime.libraries, *preloaded])
        family_of(build.dbms).check_access(build, access)
        if environment.allocator is not None:
            check_replaceable(build, account, environment.allocator)
        accepted = family_of(build.dbms).accept(build, account, settings)
        directory = run.make_contender_directory(name)
        site = Site(
            build=build,
            account=account,
            data_dir=directory / "data",
            config_file=directory / "server.conf",
            socket_dir=run.make_socket_directory(account),
            port=SOCKET_PORT,
            access=access,
            settings=accepted,
            engine=engine,
        )
        instance = cls(name, run, directory, site, environment)
        run.adopt(instance)
        try:
            instance._make()
        except OSError as error:
            raise InstanceError(f"{name}: cannot write its files: {error}") from error
        return instance

    def start(self) -> None:
        """Start the server and wait until it accepts connections; nothing if it is running.

        Raises InstanceError, with the end of its log, when it does not come up.
        """
        if self.alive():
            return
        self._clear_remains()
        if self._site.access.listen is Listen.LOOPBACK:
            self._site = dataclasses.replace(self._site, port=free_loopback_port())
        self._launch()
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not self._family.is_ready(self._site, self.pid):
            if not self.alive():
                raise self._error(f"did not start: {self._end()}")
            if time.monotonic() > deadline:
                self.stop(Shutdown.AT_ONCE)
                raise self._error(f"was not ready after {_START_TIMEOUT_S:.0f} s")
            time.sleep(_POLL_S)
        self._look_at_allocator()

    def stop(self, shutdown: Shutdown = Shutdown.ORDERLY) -> None:
        """Stop the server; nothing if it is not running. Harder signals follow if it stays."""
        process = self._process
        if process is None:
            return
        patience = _ORDERLY_END_S if shutdown is Shutdown.ORDERLY else _FORCED_END_S
        for number in self._family.stop_signals[shutdown]:
            process.send_signal(number)  # to a child not waited for: never to another process
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(patience)
                break
            patience = _FORCED_END_S
        if process.poll() is None:
            raise self._error(f"does not end (process {process.pid})")
        self._process = None

    def alive(self) -> bool:
        """Whether the server runs."""
        return self._process is not None and self._process.poll() is None

    def check_alive(self) -> None:
        """InstanceError, with the end of its log, when the server is not running."""
        if not self.alive():
            raise self._error(f"is not running: {self._end()}")

    def target(self) -> Target:
        """How the driver reaches the server; with TCP the port is another after each start."""
        return self._family.target(self._site)

    def remove(self) -> None:
        """Stop the server and delete all that it stored; a second call does nothing."""
        self.stop(Shutdown.AT_ONCE)
        if self.directory.exists():
            self._clear_remains()
            self._run.remove_socket_directory(self._site.socket_dir)
            remove_tree(self.directory)

    def log_tail(self, lines: int) -> list[str]:
        """The last lines of the log since the last start."""
        try:
            with self.log_path.open("rb") as file:
                file.seek(self._log_offset)
                return file.read().decode(errors="replace").splitlines()[-lines:]
        except FileNotFoundError:
            return []

    @property
    def pid(self) -> int:
        """The process id of the server; InstanceError when it was never started."""
        if self._process is None:
            raise self._error("was not started")
        return self._process.pid

    @property
    def site(self) -> Site:
        """All that its family needs to know of it."""
        return self._site

    @property
    def allocator(self) -> str | None:
        """The malloc library of the started server; None where it cannot be seen."""
        return self._allocator

    @property
    def build(self) -> Build:
        """What it runs."""
        return self._site.build

    @property
    def account(self) -> Account:
        """Whom it runs as."""
        return self._site.account

    @property
    def data_dir(self) -> Path:
        """Where it stores its data."""
        return self._site.data_dir

    @property
    def socket_dir(self) -> Path:
        """The directory of its Unix socket, which it has also when it listens on TCP."""
        return self._site.socket_dir

    @property
    def settings(self) -> AcceptedSettings:
        """What its server took of the settings, and which optional ones it does not know."""
        return self._site.settings

    def _make(self) -> None:
        site = self._site
        self.log_path.parent.mkdir()
        site.data_dir.mkdir(mode=0o700)
        site.account.hand_over(site.data_dir)
        if not site.account.can_enter(site.data_dir):
            raise InstanceError(
                f"the user {site.account.name}, who runs the servers, cannot enter "
                f"{self.directory}: name another directory in SLOWDUST_DATA"
            )
        site.config_file.write_text(self._family.configuration(site), encoding="utf-8")
        site.config_file.chmod(0o644)
        self._family.create(site, self._run_to_end)

    def _launch(self) -> None:
        command = self._family.server_command(self._site)
        self._run.note_program(Path(command[0]))
        with self.log_path.open("ab") as log:
            self._log_offset = log.tell()
            self._process = self._spawn(command, log.fileno(), self.environment.of_server)
        mark = ProcessMark.of(self._process.pid)
        if mark is not None:  # None: it ended already, which the caller will see
            self._run.note_server(mark, self._family.stop_signals[Shutdown.AT_ONCE][0])

    def _look_at_allocator(self) -> None:
        if self._malloc is None:
            self._malloc = find_malloc(self.build, self.account, self.environment.of_server)
        wanted = self.environment.allocator
        try:
            if wanted is not None:
                check_at_work(self.pid, self._malloc, wanted)
        except AllocatorError as error:
            self.stop(Shutdown.AT_ONCE)
            raise InstanceError(f"{self.name} {error}") from error
        self._allocator = at_work(self.pid, self._malloc)

    def _run_to_end(self, command: Sequence[str | Path], stdin: Path | None = None) -> str:
        self._run.note_program(Path(command[0]))
        log_path = self.log_path.with_name(_CREATION_LOG)
        with log_path.open("a+b") as log, Path(stdin or os.devnull).open("rb") as source:
            process = self._spawn(command, log.fileno(), {}, source.fileno())
            try:
                code = process.wait(_CREATE_TIMEOUT_S)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)  # its own group, see _spawn
                process.wait()
                raise
            log.seek(0)
            output = log.read().decode(errors="replace")
        if code != 0:
            raise self._creation_error(code, output)
        return output

    def _spawn(
        self,
        command: Sequence[str | Path],
        output: int,
        variables: Mapping[str, str],
        source: int = subprocess.DEVNULL,
    ) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                [str(part) for part in command],
                stdin=source,
                stdout=output,
                stderr=output,
                cwd=self._site.data_dir,
                env={**COMMON, **variables},
                # Ctrl-C in the terminal is for Slowdust, which then stops its servers.
                start_new_session=True,
                **self._site.account.identity(),
            )
        except OSError as error:
            raise InstanceError(f"{self.name}: cannot run {command[0]}: {error}") from error

    def _clear_remains(self) -> None:
        # Processes of a server that was killed hold its data until they notice.
        program = Path(self._family.server_command(self._site)[0])
        kill_at_work([str(program.resolve())], self.data_dir)

    def _end(self) -> str:
        code = None if self._process is None else self._process.poll()
        if code is None:
            return "it was not started"
        telling = self._family.telling_line(self.log_tail(1000))
        ending = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        return f"{telling} ({ending})" if telling else ending

    def _error(self, what: str) -> InstanceError:
        tail = "".join(f"\n  | {line}" for line in self.log_tail(_LOG_TAIL_LINES))
        return InstanceError(f"{self.name} {what}{tail}")

    def _creation_error(self, code: int, output: str) -> InstanceError:
        lines = [line for line in output.splitlines() if line.strip()][-_LOG_TAIL_LINES:]
        tail = "".join(f"\n  | {line}" for line in lines)
        return InstanceError(
            f"{self.name}: its data directory cannot be made (exit code {code}){tail}"
        )
