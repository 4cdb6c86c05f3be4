"""A running server as a contender: it has a schema of Slowdust's own, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace

import msgspec

from slowdust.dbms import family
from slowdust.dbms.access import Target
from slowdust.dbms.by_url import Introduction
from slowdust.dbms.family import Shutdown
from slowdust.dbms.server_url import ServerUrl
from slowdust.dbms.settings import AcceptedSettings
from slowdust.dbms.stages import Query, T
from slowdust.errors import SlowdustError, UsageError
from slowdust.experiment.driver.process import Driver, TargetError
from slowdust.experiment.driver.protocol import ResultSet
from slowdust.experiment.passwords import ask_password, find_password
from slowdust.instances.programs import InstanceError
from slowdust.probes.probe import Subject
from slowdust.secret import Secret
from slowdust.store.manifest import BuildFacts
from slowdust.units import Second
from slowdust.wording import counted

_MOST_TABLES = 3
_FIRST_ANSWER: Second = 10.0
"""Time in which a server answers that is asked whether it is there."""


@dataclass(frozen=True)
class RemoteSite:
    """The facts about a running server that its family needs."""

    version: str
    engine: str | None
    settings: AcceptedSettings = field(default_factory=lambda: AcceptedSettings({}, (), {}))

    @property
    def files(self) -> None:
        """No files, which are out of reach."""
        return


class RemoteServer:
    """A server that others started; it offers what the experiment needs of any server."""

    delay = None
    allocator = None
    freezing = None
    log_path = None

    def __init__(
        self, url: ServerUrl, target: Target, site: RemoteSite, product: str, driver: Driver
    ) -> None:
        self.url = url
        self.product = product
        """The name that the server has for itself, as in `Introduction`."""
        self._outside = target
        self._schema: str | None = None
        self._site = site
        self._driver = driver
        self._used = False

    @classmethod
    def connect(cls, url: ServerUrl, engine: str | None, driver: Driver) -> RemoteServer:
        """Connect, and refuse a database with tables that are not of Slowdust.

        `engine` is that of servers which do not have to be asked for it.

        Raises:
            UsageError: the database has other tables.
            SlowdustError: the server cannot be reached, or refuses the user.
        """
        dialect = url.words.dialect
        target, introduction = introduced(url, driver)
        names = introduction.foreign_tables
        if names:
            shown = ", ".join(names[:_MOST_TABLES]) + (", ..." if names[_MOST_TABLES:] else "")
            raise UsageError(
                f"{url.text} has {counted(len(names), dialect.table)} that Slowdust did not make "
                f"({shown}): name an empty database"
            )
        if dialect.engine is not None:
            engine = _if_told(target, dialect.engine, driver)
        site = RemoteSite(introduction.version, engine)
        values = _settings(url, site, target, driver)
        return cls(url, target, replace(site, settings=values), introduction.product, driver)

    @property
    def facts(self) -> BuildFacts:
        """Return its version, and what is known of its origin."""
        source = f"running server, {self.product}, {self.url.encryption}"
        return BuildFacts(source=source, version=self._site.version)

    def create_schema(self, schema: str) -> None:
        """Make an empty schema for the tables; drop one of that name that an earlier run left.

        Raises:
            SlowdustError: the user may not.
        """
        try:
            self._driver.sql(self._outside, self.url.words.dialect.create(schema))
        except TargetError as error:
            raise SlowdustError(f"{self.url.text}: cannot make a schema: {error}") from error
        self._schema = schema

    @property
    def schema(self) -> str | None:
        return self._schema

    def target(self) -> Target:
        """Return the address of the schema for the driver."""
        assert self._schema is not None
        if self.url.words.dialect.schema_is_database:
            return _replaced(self._outside, database=self._schema)
        return _replaced(self._outside, schema=self._schema)

    @property
    def site(self) -> RemoteSite:
        return self._site

    @property
    def settings(self) -> AcceptedSettings:
        return self._site.settings

    @property
    def subject(self) -> Subject | None:
        """Nothing that probes could read: its processes are out of reach."""
        return None

    def start(self) -> None:
        """Begin to use the server, which runs."""
        self._used = True

    def stop(self, shutdown: Shutdown = Shutdown.ORDERLY) -> None:
        """Cease to use the server, which runs on."""
        del shutdown
        self._used = False

    def alive(self) -> bool:
        return self._used

    def check_alive(self) -> None:
        """Raise InstanceError when it no longer answers."""
        try:
            self._driver.sql(self._outside, ["SELECT 1"], limit=_FIRST_ANSWER)
        except TargetError as error:
            raise InstanceError(f"{self.url.text} does not answer: {error}") from error

    def freeze(self) -> None:
        """Do nothing: it cannot be made to stand still."""

    def thaw(self) -> None:
        """Do nothing."""

    def log_tail(self, lines: int) -> Sequence[str]:
        """Return no lines: its log is out of reach."""
        del lines
        return []

    def remove(self) -> None:
        """Drop the schema; a second call does nothing, nor does one when the server is gone."""
        schema, self._schema = self._schema, None
        if schema is not None:
            with suppress(SlowdustError):
                drop = self.url.words.dialect.drop(schema)
                self._driver.sql(self._outside, drop, limit=self._driver.patience.operation)


def introduced(url: ServerUrl, driver: Driver) -> tuple[Target, Introduction]:
    """Return the address with a password that the server accepts, and what the server says.

    The user is asked for a password last.
    """
    target = Target(
        dbms=url.dbms,
        protocol=family(url.dbms).protocol,
        host=url.host,
        socket=url.socket,
        port=url.port,
        user=url.user,
        password=find_password(url),
        database=url.database or url.words.database,
        foreign=True,
        tls=url.tls,
        auth_source=url.auth_source,
    )
    try:
        return target, _introduction(url, target, driver)
    except TargetError as error:
        if not _wants_password(url, target, error):
            raise SlowdustError(f"{url.text}: {error}") from error
        password = ask_password(url)
        if password is None:
            raise SlowdustError(f"{url.text}: {error}; {_remedy(url)}") from error
        target = _replaced(target, password=password)
        try:
            return target, _introduction(url, target, driver)
        except TargetError as again:
            raise SlowdustError(f"{url.text}: {again}") from again


@contextmanager
def asking_servers() -> Iterator[Callable[[ServerUrl, Sequence[str]], list[ResultSet]]]:
    """Yield a function that executes statements on a running server, by a driver of its own."""
    with ExitStack() as stack:
        drivers: list[Driver] = []
        targets: dict[str, Target] = {}

        def ask(url: ServerUrl, statements: Sequence[str]) -> list[ResultSet]:
            if not drivers:
                drivers.append(stack.enter_context(Driver()))
            [driver] = drivers
            if url.text not in targets:
                targets[url.text], _ = introduced(url, driver)
            try:
                return driver.sql(targets[url.text], statements)
            except TargetError as error:
                raise SlowdustError(f"the server refuses to tell: {error}") from error

        yield ask


def _wants_password(url: ServerUrl, target: Target, error: TargetError) -> bool:
    states = url.words.password_states
    if target.password is None:
        states |= url.words.unproven_states
    return error.sqlstate in states


def _remedy(url: ServerUrl) -> str:
    """Say where the password is looked for, and for whose it is taken."""
    words = url.words
    file = f" or use {words.password_file}" if words.password_file else ""
    source = f"; {url.user} is looked for in {url.auth_source} ({words.auth_source_option}=)"
    return f"set {words.password_variable}{file}{source if url.auth_source else ''}"


def _introduction(url: ServerUrl, target: Target, driver: Driver) -> Introduction:
    dialect = url.words.dialect
    driver.subject = url.text
    query = dialect.introduction(target.database)
    answers = driver.sql(target, query.statements, limit=driver.patience.operation)
    return query.read([answer.rows for answer in answers])


def _if_told(target: Target, query: Query[T] | None, driver: Driver) -> T | None:
    """Return the answer to a query; None where the server does not know or tell it."""
    if query is None:
        return None
    try:
        answers = driver.sql(target, query.statements, limit=driver.patience.operation)
    except TargetError as error:
        if error.kind == "connection" or error.is_timeout:
            raise
        return None
    return query.read([answer.rows for answer in answers])


def _settings(url: ServerUrl, site: RemoteSite, target: Target, driver: Driver) -> AcceptedSettings:
    """Return the values in force of the settings that tell most; others are the user's to know."""
    known = family(url.dbms)
    wanted = AcceptedSettings(dict.fromkeys(url.words.settings, ""), (), {})
    asked = replace(site, settings=wanted)
    in_force = _if_told(target, known.settings_in_force(asked), driver) or {}
    return AcceptedSettings({name: value.text for name, value in in_force.items()}, (), {})


def _replaced(target: Target, **changes: str | Secret) -> Target:
    return msgspec.structs.replace(target, **changes)
