"""The driver process, the same client for all contenders, and its time limits for servers."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec

from slowdust.benchmarks.described import Described
from slowdust.benchmarks.model import Test
from slowdust.dbms import family
from slowdust.dbms.access import Target
from slowdust.driver_program import BINARY, find_driver
from slowdust.errors import SlowdustError
from slowdust.experiment.cpus import (
    pin,
    place_clients,
    place_connections,
    usable_cpus,
)
from slowdust.experiment.driver import protocol
from slowdust.secret import revealed
from slowdust.units import Second, format_duration
from slowdust.wording import cut

LEAST: Second = 60.0
"""Shortest time limit of a test's operation, even with a smaller budget."""
_MAINTENANCE: Second = 3600.0
_SLOWEST_ROWS = 2000
"""Lowest rows/s that maintenance or the creation of an index is expected to process."""
_QUIET: Second = 5.0
"""Time after which the user sees what is being waited for."""
_SHOWN = 60
"""Displayed characters of a statement."""

Waiting = Callable[[str, Second], None]
"""Called with what is waited for, and for how long so far: `View.waiting`."""


@dataclass(frozen=True)
class Patience:
    """Time limits for the answers of a server.

    The driver itself limits the first answers of a running server to 10 s.
    """

    operation: Second = LEAST
    """Limit for an operation of a test, and for a query."""
    given: Second | None = None
    """The user's limit for everything.

    None: loading and maintenance have an hour, and more for many rows.
    """

    @classmethod
    def of(cls, budget: Second, given: Second | None) -> Patience:
        return cls(given or max(LEAST, budget), given)

    def maintenance(self, rows: int = 0) -> Second:
        """Return the limit for one statement of maintenance on tables of `rows` rows."""
        return self.given or max(_MAINTENANCE, rows / _SLOWEST_ROWS)


def _expected(command: protocol.Command) -> Second:
    """Return the time that a command takes by design."""
    if isinstance(command, protocol.Run):
        return command.stop.seconds or 0.0
    if isinstance(command, protocol.Sample | protocol.Fetch):
        return command.seconds
    return 0.0


def _limit(command: protocol.Command) -> Second | None:
    """Return the limit for one answer, if the command has one."""
    if isinstance(command, protocol.Run | protocol.Perform):
        return command.patience
    if isinstance(command, protocol.Explain | protocol.Close | protocol.Fetch):
        return None
    return command.target.patience


def _awaited(command: protocol.Command) -> str:
    if isinstance(command, protocol.Run):
        return "an operation to finish"
    if isinstance(command, protocol.Sql):
        statement = " ".join(command.statements[0].split())
        alone = len(command.statements) == 1
        return cut(statement, _SHOWN) if alone else f"{len(command.statements)} statements"
    if isinstance(command, protocol.Load):
        return "its tables to be loaded"
    if isinstance(command, protocol.Perform):
        return "progress"
    if isinstance(command, protocol.Open | protocol.Prepare):
        return "its connections and prepared statements"
    return "an answer"


_GRACE: Second = 60.0
"""Time after which the driver, which enforces the limits, counts as hung itself."""
_LOOK_EVERY: Second = 1.0
"""Time between two checks of how long an answer has been waited for."""
_PIECE: Second = 10.0
"""Length of the parts that a long run is split into to show progress."""
STANDSTILL: Second = 120.0
"""Time without progress after which a step's server counts as hung."""

_ENCODER = msgspec.json.Encoder(enc_hook=revealed)
"""Passwords are sent to the driver only on its standard input."""

OnProgress = Callable[[int, int], None]
_Answer = TypeVar("_Answer", bound=protocol.AnyEvent)


@dataclass(frozen=True)
class Data:
    """The loaded tables: `tables` tables of `rows` rows each, a function of `seed`."""

    tables: int
    rows: int
    seed: int
    benchmark: str = "sbtest"
    """The driver's name for their benchmark."""
    table: str = "sbtest"
    """The name of the tables without their numbers."""
    described: Described | None = None
    """The tables and tests, if the driver does not know them. The numbers above do not apply to
    them."""
    incarnations_of_a_load: int = 2
    """Starts of the servers that the tables serve while there are no writes."""
    further: Mapping[str, Test] = field(default_factory=dict)
    """Tables that are loaded for one test, if the contender supports it: name -> the test."""

    @property
    def all_rows(self) -> int:
        return self.tables * self.rows if self.described is None else self.described.rows

    @property
    def names(self) -> list[str]:
        if self.described is not None:
            return self.described.names
        return [f"{self.table}{number}" for number in range(1, self.tables + 1)]

    def maintained(self, dbms: str) -> list[str]:
        """Return the names of all tables: loaded ones, and ones created before loading."""
        made = self.described.made_before(family(dbms)) if self.described else ()
        return [*self.names, *made]


class DriverError(SlowdustError):
    """The driver itself failed: the experiment cannot continue."""


class TargetError(SlowdustError):
    """A server failed to do what the driver asked for: the contender cannot continue."""

    def __init__(self, failed: protocol.Failed) -> None:
        state = f" (SQLSTATE {failed.sqlstate})" if failed.sqlstate else ""
        super().__init__(f"{failed.kind} error: {failed.message}{state}")
        self.kind = failed.kind
        self.sqlstate = failed.sqlstate

    @property
    def is_timeout(self) -> bool:
        """Whether the server exceeded a time limit; the driver then cancels the statement."""
        return self.kind == "timeout"


class Driver:
    """A running driver; one command at a time. Use as a context manager."""

    def __init__(
        self,
        binary: Path | None = None,
        cpus: Sequence[int] | None = None,
        patience: Patience | None = None,
        waiting: Waiting | None = None,
    ) -> None:
        """Start a driver that places clients on `cpus`, by default on all usable ones.

        `waiting` is called when a command takes longer than expected.
        """
        self.patience = patience or Patience()
        self.subject = "the server"
        """The subject of the commands: a contender, or a test on one."""
        self._waiting = waiting
        self._cpus = cpus or usable_cpus()
        self._binary = binary or find_driver()
        self._last_id = 0
        self._received = b""
        self._decoder: msgspec.json.Decoder[protocol.Event] = msgspec.json.Decoder(protocol.Event)
        # A session of its own: only Slowdust gets Ctrl-C, and then stops the driver in order.
        self._process = subprocess.Popen(
            [self._binary],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self._selector = selectors.DefaultSelector()
        assert self._process.stdout is not None
        self._selector.register(self._process.stdout, selectors.EVENT_READ)

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def another(self, cpus: Sequence[int] | None = None) -> Driver:
        """Start a concurrent driver, on `cpus` or on all that this process may use."""
        return Driver(self._binary, cpus)

    @property
    def version(self) -> str:
        answer = subprocess.run(
            [self._binary, "--version"],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=True,
        )
        return answer.stdout.strip().removeprefix(BINARY).strip()

    def end(self) -> None:
        """Stop the process; it exits when its input closes."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._selector.close()

    def load(self, target: Target, data: Data, on_progress: OnProgress) -> protocol.Loaded:
        """Create and fill the tables; the rows are a function of the seed."""
        limit = self.patience.maintenance(data.all_rows)
        described = data.described
        command = protocol.Load(
            target=_patient(target, limit),
            benchmark=data.benchmark,
            tables=data.tables,
            rows=data.rows,
            seed=data.seed,
            # One connection per table: several would produce a different layout each time.
            parallel=min(len(data.names), os.cpu_count() or 1),
            described=described.tables(family(target.dbms)) if described else None,
        )
        return self._ask(command, protocol.Loaded, limit, on_progress)

    def open(
        self,
        session: str,
        target: Target,
        data: Data,
        *,
        test: str,
        clients: int,
        first: int = 0,
        foreground: int = 0,
    ) -> protocol.Opened:
        """Connect the clients of a test, prepare its statements, and place both ends on CPUs.

        `first` is the index of the first operation in the test's sequence. Background clients take
        the CPUs after the `foreground` clients.
        """
        cpus = place_clients(foreground + clients, self._cpus)[foreground:]
        described = data.described
        command = protocol.Open(
            session=session,
            target=_patient(target, self.patience.operation),
            benchmark=data.benchmark,
            test=test,
            clients=clients,
            first=first,
            tables=data.tables,
            rows=data.rows,
            seed=data.seed,
            cpus=cpus,
            described=described.test(test, family(target.dbms), clients) if described else None,
        )
        opened = self._ask(command, protocol.Opened, self.patience.operation)
        if opened.server_processes:
            _place(command, opened.server_processes, cpus)
        return opened

    def explain(self, session: str, operations: int = 0) -> list[protocol.PlanText]:
        """Return the plans of the session's statements, with the work of up to `operations`."""
        command = protocol.Explain(session=session, operations=operations)
        return self._ask(command, protocol.Explained, self.patience.operation).plans

    def run(
        self,
        session: str,
        stop: protocol.Stop,
        rate: protocol.Rate | None = None,
        background: Sequence[protocol.BackgroundRun] = (),
        *,
        begin: list[int] | None = None,
    ) -> protocol.Ran:
        """Run the session's operations until `stop`, and `background` sessions concurrently.

        `begin` has the position of each client; None continues. Without a time, all operations
        together have the time limit of maintenance; use `advance` for many.
        """
        patience = self.patience.operation
        if stop.seconds is None:
            patience = self.patience.maintenance()
        command = protocol.Run(
            session=session,
            stop=stop,
            begin=begin,
            rate=rate,
            beside=list(background),
            patience=patience,
        )
        return self._ask(command, protocol.Ran, (stop.seconds or 0.0) + patience)

    def advance(self, session: str, positions: list[int]) -> protocol.Ran:
        """Run a session until each client is at its position; return the last part.

        There is no limit on the whole: each operation has the same limit as in a slice.
        """
        while True:
            ran = self.run(session, protocol.Stop(seconds=_PIECE, positions=positions))
            if ran.positions == positions:
                return ran

    def create(self, command: protocol.Create) -> None:
        limit = self.patience.maintenance()
        command.target = _patient(command.target, limit)
        self._ask(command, protocol.Created, limit)

    def prepare(self, command: protocol.Prepare) -> protocol.Prepared:
        command.cpus = place_connections(command.clients, self._cpus)
        limit = self.patience.maintenance()
        command.target = _patient(command.target, limit)
        prepared = self._ask(command, protocol.Prepared, limit)
        cpus = {seat.process: seat.cpu for seat in prepared.seats if seat.cpu is not None}
        _place(command, [*cpus], [*cpus.values()])
        return prepared

    def perform(
        self,
        session: str,
        until: protocol.Until | None,
        limit: Second,
        on_progress: OnProgress,
    ) -> protocol.Performed:
        """Continue a session's step to its end, or to the end of a chunk.

        `limit` is the longest time without progress.
        """
        command = protocol.Perform(session=session, until=until, patience=limit)
        return self._ask(command, protocol.Performed, limit, on_progress)

    def close(self, session: str) -> None:
        self._ask(protocol.Close(session=session), protocol.Closed, _GRACE)

    def sql(
        self,
        target: Target,
        statements: Sequence[str],
        parallel: int = 1,
        limit: Second | None = None,
    ) -> list[protocol.ResultSet]:
        """Execute statements outside of slices; return their results as text, in order.

        `limit` is the time limit of each; by default the limit of maintenance.
        """
        limit = self.patience.maintenance() if limit is None else limit
        patient = _patient(target, limit)
        command = protocol.Sql(target=patient, statements=list(statements), parallel=parallel)
        return self._ask(command, protocol.Rows, limit * max(1, len(statements))).results

    def sample(
        self, target: Target, statement: str, every: Second, seconds: Second
    ) -> list[protocol.ResultSet]:
        """Execute a statement at intervals of `every`, for `seconds`; return results in order."""
        patient = _patient(target, self.patience.operation)
        command = protocol.Sample(target=patient, statement=statement, every=every, seconds=seconds)
        return self._ask(command, protocol.Rows, seconds + self.patience.operation).results

    def fetch(self, command: protocol.Fetch) -> protocol.Fetched:
        """Read pages of a file at random, bypassing the kernel's cache.

        Raises:
            TargetError: the file cannot be read this way.
        """
        return self._ask(command, protocol.Fetched, command.seconds)

    def _ask(
        self,
        command: protocol.Command,
        answer: type[_Answer],
        limit: Second,
        on_progress: OnProgress | None = None,
    ) -> _Answer:
        self._last_id += 1
        command.id = self._last_id
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(_ENCODER.encode(command) + b"\n")
        except BrokenPipeError:
            raise self._ended() from None
        since = time.monotonic()
        done = 0
        while True:
            event = self._next_event(since, limit, command)
            if isinstance(event, protocol.Failed) and event.id is None:
                raise DriverError(
                    f"the driver does not understand '{_name(command)}': {event.message}"
                )
            if event.id != command.id:
                continue  # a late answer to a command whose server hung
            if isinstance(event, protocol.Progress):
                if event.done > done:
                    done = event.done
                    since = time.monotonic()  # progress restarts the limit
                if on_progress is not None:
                    on_progress(event.done, event.total)
                continue
            if isinstance(event, protocol.Failed):
                if event.kind == "usage":
                    raise DriverError(f"the driver rejects '{_name(command)}': {event.message}")
                raise TargetError(event)
            if not isinstance(event, answer):
                raise DriverError(f"the driver answered '{_name(event)}' to '{_name(command)}'")
            return event

    def _next_event(self, since: float, limit: Second, command: protocol.Command) -> protocol.Event:
        """Return the next event; the driver has to send one within `limit` after `since`."""
        assert self._process.stdout is not None
        while b"\n" not in self._received:
            if not self._selector.select(_LOOK_EVERY):
                waited = time.monotonic() - since
                if waited > limit + _GRACE:
                    message = f"no answer from the driver within {waited:.0f} s"
                    raise TargetError(protocol.Failed(kind="timeout", message=message))
                self._report_waiting(command, waited)
                continue
            chunk = os.read(self._process.stdout.fileno(), 1 << 20)
            if not chunk:
                raise self._ended()
            self._received += chunk
        line, _, self._received = self._received.partition(b"\n")
        try:
            return self._decoder.decode(line)
        except msgspec.MsgspecError as error:
            raise DriverError(f"the driver wrote {line[:200]!r}: {error}") from error

    def _report_waiting(self, command: protocol.Command, so_far: Second) -> None:
        """Report what a command waits for, once it takes longer than expected."""
        if self._waiting is None or so_far - _expected(command) <= _QUIET:
            return
        limit = _limit(command)
        at_most = "" if limit is None else f", at most {format_duration(limit)}"
        self._waiting(f"{self.subject}: waiting for {_awaited(command)}{at_most}", so_far)

    def _ended(self) -> DriverError:
        return DriverError(f"the driver exited with code {self._process.wait()}")


def _name(message: protocol.Command | protocol.AnyEvent) -> str:
    """Return the name of a message without its content, which may have passwords or rows."""
    return type(message).__name__.lower()


def _patient(target: Target, patience: Second) -> Target:
    return msgspec.structs.replace(target, patience=patience)


def _place(command: protocol.Command, processes: Sequence[int], cpus: Sequence[int]) -> None:
    try:
        pin(processes, cpus)
    except OSError as error:
        message = f"its processes cannot be placed on CPUs: {error}"
        raise TargetError(protocol.Failed(kind="server", message=message)) from error
