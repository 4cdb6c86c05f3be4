"""A contender's server, of any DBMS: its data, log and process."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from slowdust.accounts import BASE_ENVIRONMENT, Account, server_account
from slowdust.builds.model import Build
from slowdust.dbms import family as family_of
from slowdust.dbms.access import Access, Target
from slowdust.dbms.environment import SYNC_DELAY, Environment, check_loadable
from slowdust.dbms.family import Shutdown, Site
from slowdust.dbms.settings import AcceptedSettings, Settings
from slowdust.directories import AccountDirectory
from slowdust.instances.callgrind import Callgrind
from slowdust.instances.control_groups import Freezable, MemoryLimit, freezable
from slowdust.instances.leftovers import remove_shared_memory, remove_tree
from slowdust.instances.preloads import (
    AllocatorError,
    DelayFile,
    Malloc,
    SyncFile,
    check_loaded,
    check_preloadable,
    check_replaceable,
    find_malloc,
    loaded_allocator,
    sync_library,
)
from slowdust.instances.processes import ProcessMark
from slowdust.instances.programs import (
    LOG_TAIL_LINES,
    InstanceError,
    ServerLog,
    describe_exit,
    make_certificate,
)
from slowdust.instances.rundir import RunDirectory
from slowdust.places import DATA_VARIABLE
from slowdust.probes.probe import Subject
from slowdust.units import known

SOCKET_PORT = 5432
"""The port of a server that listens only on its socket. It may be part of the socket's name; each
server's socket is in a directory of its own."""
_START_TIMEOUT_S = 120.0
_START_UNDER_CALLGRIND_S = 300.0
_ORDERLY_STOP_S = 120.0
_FORCED_STOP_S = 15.0
_CREATION_S = 300.0
_POLL_S = 0.01


class Instance:
    """The server of one contender; it can be started and stopped repeatedly."""

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
        self._log = ServerLog(directory / "log" / "server.log")
        self._run = run
        self._site = site
        self.environment = environment
        self.delay: DelayFile | None = None
        """The delay before its replies; None if it was created without a delay library."""
        self.memory_limit: MemoryLimit | None = None
        """The memory limit; None without one."""
        self.frozen_group: Path | None = None
        """The control group that suspends the server; None if signals do."""
        self.syncs: SyncFile | None = None
        """The calls that wait for the disk; None if they are not timed."""
        self._observed = False
        """Whether its next start has instrumentation for the waits of its sessions."""
        self.callgrind: Callgrind | None = None
        """Callgrind of its last start; None after a normal start."""
        self._attached_before = 0
        """How many of the server's processes had loaded the delay library before its last start."""
        self._malloc: Malloc | None = None
        self._allocator: str | None = None
        self._family = family_of(site.build.dbms)
        self._process: subprocess.Popen[bytes] | None = None
        self._processes: Freezable | None = None

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
        delay_library: Path | None = None,
        memory_bytes: int | None = None,
    ) -> Instance:
        """Create the data directory of a contender without starting the server.

        A server with a delay library can be slowed by `delay`; `memory_bytes` limits its memory,
        including its share of the page cache. Raises UsageError for settings that the build
        rejects, libraries that it cannot load, and paths that its dynamic loader cannot read;
        InstanceError if the data cannot be created.
        """
        account = server_account()
        access = access or Access.make()
        environment = environment or Environment()
        preloaded = known([environment.library, delay_library])
        check_loadable([*build.runtime.libraries, *preloaded])
        family_of(build.dbms).check_access(build, access)
        if environment.allocator is not None:
            check_replaceable(build, account, environment.allocator)
        if delay_library is not None:
            check_preloadable(build, [build.server], "be slowed")
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
        if SYNC_DELAY in environment.variables:
            programs = family_of(build.dbms).programs(site)
            check_preloadable(build, programs, f"use {SYNC_DELAY}")
        instance = cls(name, run, directory, site, environment)
        run.remove_on_close(instance)
        try:
            if delay_library is not None:
                instance.delay = DelayFile(delay_library, directory / "delay", account)
            if SYNC_DELAY in environment.variables:
                instance.syncs = SyncFile(sync_library(), directory / "syncs", account)
            instance._create_data()
            if memory_bytes is not None:
                instance.memory_limit = run.limit_memory(memory_bytes)
            instance.frozen_group = run.frozen_group(instance.memory_limit)
        except OSError as error:
            raise InstanceError(f"{name}: cannot write its files: {error}") from error
        return instance

    def start(self) -> None:
        """Start the server unless it is running, and wait until it accepts connections.

        Raises InstanceError, with the end of its log, if it does not start.
        """
        if not self.alive():
            self._clear_remains()
            self._end_callgrind()
            self._start(_START_TIMEOUT_S)

    def observe_waits(self) -> None:
        """Enable instrumentation for the waits of sessions from the next start on.

        Raises SlowdustError if the library that times waits for the disk cannot be built; all other
        instrumentation is enabled nevertheless.
        """
        self._observed = True
        if self.syncs is None:
            self.syncs = SyncFile(sync_library(), self.directory / "syncs", self.account)

    def start_under_callgrind(self, options: Sequence[str] = ()) -> Callgrind:
        """Start the stopped server under callgrind, with additional options of callgrind.

        Raises InstanceError like `start`, and SlowdustError if callgrind is not usable.
        """
        self._clear_remains()
        self._end_callgrind()
        self.callgrind = Callgrind(
            self.directory / "counts",
            self.account,
            follow_children=self._family.sessions_are_processes,
            options=options,
            check_alive=self.check_alive,
        )
        self._start(_START_UNDER_CALLGRIND_S)
        return self.callgrind

    def _start(self, timeout: float) -> None:
        if self.delay is not None:
            self._attached_before = self.delay.attached
        if self._site.access.by_tcp:
            self._site = dataclasses.replace(self._site, port=_free_loopback_port())
        self._launch()
        deadline = time.monotonic() + timeout
        while not self._family.is_ready(self._site, self.pid):
            if not self.alive():
                raise self._error(f"did not start: {self._exit_reason()}")
            if time.monotonic() > deadline:
                self.stop(Shutdown.AT_ONCE)
                raise self._error(f"was not ready after {timeout:.0f} s")
            time.sleep(_POLL_S)
        if self.delay is not None and self.delay.attached == self._attached_before:
            self.stop(Shutdown.AT_ONCE)
            raise InstanceError(f"{self.name} cannot be slowed: it has not loaded the library")
        self._check_allocator()

    def stop(self, shutdown: Shutdown = Shutdown.ORDERLY) -> None:
        """Stop the server if it is running, with harder signals if it does not exit."""
        process = self._process
        if process is None:
            return
        self.thaw()
        timeout = _ORDERLY_STOP_S if shutdown is Shutdown.ORDERLY else _FORCED_STOP_S
        for number in self._family.stop_signals[shutdown]:
            process.send_signal(number)  # a child not waited for: the pid cannot be reused
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout)
                break
            timeout = _FORCED_STOP_S
        if process.poll() is None:
            raise self._error(f"does not exit (process {process.pid})")
        self._process = self._processes = None

    def freeze(self) -> None:
        if self._processes is not None:
            self._processes.freeze()

    def thaw(self) -> None:
        if self._processes is not None:
            self._processes.thaw()

    @property
    def freezing(self) -> str | None:
        """How the running server is suspended; None if it is not running."""
        return None if self._processes is None else self._processes.way

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def check_alive(self) -> None:
        if not self.alive():
            raise self._error(f"is not running: {self._exit_reason()}")

    def target(self) -> Target:
        """Return the server's address for the driver; a TCP port changes with each start."""
        return self._family.target(self._site)

    def encrypted_target(self) -> Target:
        return self._family.encrypted_target(self._site)

    def remove(self) -> None:
        """Stop the server and delete all its files; a second call does nothing."""
        self.stop(Shutdown.AT_ONCE)
        if self.directory.exists():
            self._run.end_programs(self.data_dir)
            remove_shared_memory(self.directory)  # it names the data directory by inode
            remove_tree(self.directory)
            self._run.remove_socket_directory(self.socket_dir, self.account)

    def log_tail(self, lines: int) -> list[str]:
        return self._log.tail(lines)

    @property
    def log_path(self) -> Path:
        return self._log.path

    @property
    def pid(self) -> int:
        if self._process is None:
            raise self._error("was not started")
        return self._process.pid

    @property
    def subject(self) -> Subject:
        return Subject(self.pid, self.data_dir)

    @property
    def site(self) -> Site:
        return self._site

    @property
    def allocator(self) -> str | None:
        """The malloc library of the started server; None if unknown."""
        return self._allocator

    @property
    def build(self) -> Build:
        return self._site.build

    @property
    def account(self) -> Account:
        return self._site.account

    @property
    def data_dir(self) -> Path:
        return self._site.data_dir

    @property
    def socket_dir(self) -> Path:
        """The directory of the server's Unix socket; it exists with TCP, too."""
        return self._site.socket_dir

    @property
    def settings(self) -> AcceptedSettings:
        """The accepted settings, and the optional ones that the server does not know."""
        return self._site.settings

    def _create_data(self) -> None:
        site = self._site
        self.log_path.parent.mkdir()
        site.account.make_directory(site.data_dir)
        if not site.account.can_enter(site.data_dir):
            raise InstanceError(
                f"the user {site.account.name}, who runs the servers, cannot enter "
                f"{self.directory}: set {DATA_VARIABLE} to another directory"
            )
        site.config_file.write_text(self._family.configuration(site), encoding="utf-8")
        site.config_file.chmod(0o644)
        if site.access.encrypted:
            make_certificate(site)
        self._family.create(site, self._run_to_end)

    def _run_to_end(self, command: Sequence[str | Path], stdin: Path | None = None) -> str:
        """Run a program that creates the data directory; return its output.

        Raises InstanceError, with the end of its output, if it fails.
        """
        self._run.record_program(Path(command[0]))
        creation_log = self.log_path.with_name("creation.log")
        with creation_log.open("a+b") as log, Path(stdin or os.devnull).open("rb") as source:
            process = self._spawn(command, log.fileno(), {}, source.fileno())
            try:
                code = process.wait(_CREATION_S)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)  # its own group, see _spawn
                process.wait()
                raise
            log.seek(0)
            output = log.read().decode(errors="replace")
        if code != 0:
            lines = [line for line in output.splitlines() if line.strip()][-LOG_TAIL_LINES:]
            tail = "".join(f"\n  | {line}" for line in lines)
            raise InstanceError(
                f"{self.name}: cannot create its data directory (exit code {code}){tail}"
            )
        return output

    def _spawn(
        self,
        command: Sequence[str | Path],
        output: int,
        variables: Mapping[str, str],
        source: int = subprocess.DEVNULL,
    ) -> subprocess.Popen[bytes]:
        """Start a program with these descriptors and additional variables.

        Raises InstanceError if it cannot be run.
        """
        try:
            process = subprocess.Popen(
                [str(part) for part in command],
                stdin=source,
                stdout=output,
                stderr=output,
                cwd=self.data_dir,
                env={**BASE_ENVIRONMENT, **variables},
                # Ctrl-C in the terminal is for Slowdust, which then stops its servers.
                start_new_session=True,
                **self.account.identity(),
            )
        except OSError as error:
            raise InstanceError(f"{self.name}: cannot run {command[0]}: {error}") from error
        self._run.record_session(process.pid)
        return process

    def _launch(self) -> None:
        command = self._family.server_command(self._site)
        if self._observed:
            command += self._family.options_when_observed(self._site)
        for program in self._family.programs(self._site):
            self._run.record_program(program)
        variables = self._server_variables()
        if self.callgrind is not None:
            # Cleanup after a crash looks for this program.
            self._run.record_program(self.callgrind.program)
            command = self.callgrind.command([*command, *self._family.options_when_counted])
            variables = self.callgrind.variables(variables)
        with self._log.begin() as log:
            self._process = self._spawn(command, log.fileno(), variables)
        if self.memory_limit is not None and self.callgrind is None:  # callgrind needs far more
            self.memory_limit.add(self._process.pid)
        group = self.frozen_group if self.callgrind is None else None
        self._processes = freezable(self._process.pid, group)
        mark = ProcessMark.of(self._process.pid)
        if mark is not None:  # otherwise it has exited already; the caller will notice
            self._run.record_server(mark, self._family.stop_signals[Shutdown.AT_ONCE][0])

    def _server_variables(self) -> dict[str, str]:
        secrets = self._family.secret_variables(self._site)
        variables = self.environment.server_variables | {
            name: secret.reveal() for name, secret in secrets.items()
        }
        if self.syncs is not None:
            variables = self.syncs.variables(variables)
        return variables if self.delay is None else self.delay.variables(variables)

    def _check_allocator(self) -> None:
        if self._malloc is None:
            self._malloc = find_malloc(self.build, self.account, self.environment.server_variables)
        wanted = self.environment.allocator
        try:
            if wanted is not None:
                check_loaded(self.pid, self._malloc, wanted)
        except AllocatorError as error:
            self.stop(Shutdown.AT_ONCE)
            raise InstanceError(f"{self.name} {error}") from error
        self._allocator = loaded_allocator(self.pid, self._malloc)

    def _clear_remains(self) -> None:
        # Child processes of a killed server use its data until they notice its exit.
        self._run.end_programs(self.data_dir)
        try:
            with AccountDirectory.opened(self.socket_dir, self.account) as directory:
                for name in directory.names():
                    if directory.is_socket(name):  # some servers refuse to replace a socket
                        directory.unlink(name)
        except FileNotFoundError:
            raise self._error(f"cannot be started: {self.socket_dir} is gone") from None

    def _end_callgrind(self) -> None:
        if self.callgrind is not None:
            self.callgrind.close()
            self.callgrind = None

    def _exit_reason(self) -> str:
        code = None if self._process is None else self._process.poll()
        if code is None:
            return "it was not started"
        cause = None
        if self.memory_limit is not None and self.memory_limit.was_reached:
            cause = f"it needs more than --memory {self.memory_limit.limit_bytes:,} bytes"
        return describe_exit(code, cause, self._family.error_line(self.log_tail(1000)))

    def _error(self, what: str) -> InstanceError:
        tail = "".join(f"\n  | {line}" for line in self.log_tail(LOG_TAIL_LINES))
        return InstanceError(f"{self.name} {what}{tail}")


def _free_loopback_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
