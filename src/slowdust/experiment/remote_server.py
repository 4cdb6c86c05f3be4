"""A running server as a contender: Slowdust creates a schema in it, and changes nothing else."""

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
"""Time limit for the check whether a server answers."""


@dataclass(frozen=True)
class RemoteSite:
    """The facts of a running server that its family needs."""

    version: str
    engine: str | None
    settings: AcceptedSettings = field(default_factory=lambda: AcceptedSettings({}, (), {}))

    @property
    def files(self) -> None:
        """None: its files are out of reach."""
        return


class RemoteServer:
    """A server that Slowdust did not start, with the interface that experiments need."""

    delay = None
    allocator = None
    freezing = None
    log_path = None

    def __init__(
        self, url: ServerUrl, target: Target, site: RemoteSite, product: str, driver: Driver
    ) -> None:
        self.url = url
        self.product = product
        """The server's name for itself, as in `Introduction`."""
        self._outside = target
        self._schema: str | None = None
        self._site = site
        self._driver = driver
        self._used = False

    @classmethod
    def connect(cls, url: ServerUrl, engine: str | None, driver: Driver) -> RemoteServer:
        """Connect, and refuse a database with tables that Slowdust did not create.

        `engine` is the engine of servers that need not be asked for it.

        Raises:
            UsageError: the database has other tables.
            SlowdustError: the server cannot be reached, or rejects the user.
        """
        dialect = url.words.dialect
        target, introduction = connect_with_password(url, driver)
        names = introduction.foreign_tables
        if names:
            shown = ", ".join(names[:_MOST_TABLES]) + (", ..." if names[_MOST_TABLES:] else "")
            raise UsageError(
                f"{url.text} has {counted(len(names), dialect.table)} that Slowdust did not create "
                f"({shown}): use an empty database"
            )
        if dialect.engine is not None:
            engine = try_query(target, dialect.engine, driver)
        site = RemoteSite(introduction.version, engine)
        values = _settings(url, site, target, driver)
        return cls(url, target, replace(site, settings=values), introduction.product, driver)

    @property
    def facts(self) -> BuildFacts:
        """The version, with product and encryption as the source."""
        source = f"running server, {self.product}, {self.url.encryption}"
        return BuildFacts(source=source, version=self._site.version)

    def create_schema(self, schema: str) -> None:
        """Create an empty schema for the tables; replaces one that an earlier run left.

        Raises:
            SlowdustError: the user lacks the privilege.
        """
        try:
            self._driver.sql(self._outside, self.url.words.dialect.create(schema))
        except TargetError as error:
            raise SlowdustError(f"{self.url.text}: cannot create a schema: {error}") from error
        self._schema = schema

    @property
    def schema(self) -> str | None:
        return self._schema

    def target(self) -> Target:
        """Return the driver's address of the schema."""
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
        """None: probes cannot read its processes."""
        return None

    def start(self) -> None:
        """Begin to use the server, which is running already."""
        self._used = True

    def stop(self, shutdown: Shutdown = Shutdown.ORDERLY) -> None:
        """Cease to use the server, which keeps running."""
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
        """Do nothing: it cannot be suspended."""

    def thaw(self) -> None:
        """Do nothing."""

    def log_tail(self, lines: int) -> Sequence[str]:
        """Return no lines: its log is out of reach."""
        del lines
        return []

    def remove(self) -> None:
        """Drop the schema. Does nothing if called again, or if the server is gone."""
        schema, self._schema = self._schema, None
        if schema is not None:
            with suppress(SlowdustError):
                drop = self.url.words.dialect.drop(schema)
                self._driver.sql(self._outside, drop, limit=self._driver.patience.operation)


def connect_with_password(url: ServerUrl, driver: Driver) -> tuple[Target, Introduction]:
    """Return the address, with a password that the server accepts, and its introduction.

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
    """Yield a function that executes statements on running servers, with its own driver."""
    with ExitStack() as stack:
        drivers: list[Driver] = []
        targets: dict[str, Target] = {}

        def ask(url: ServerUrl, statements: Sequence[str]) -> list[ResultSet]:
            if not drivers:
                drivers.append(stack.enter_context(Driver()))
            [driver] = drivers
            if url.text not in targets:
                targets[url.text], _ = connect_with_password(url, driver)
            try:
                return driver.sql(targets[url.text], statements)
            except TargetError as error:
                raise SlowdustError(f"the server rejects the query: {error}") from error

        yield ask


def _wants_password(url: ServerUrl, target: Target, error: TargetError) -> bool:
    states = url.words.password_states
    if target.password is None:
        states |= url.words.unproven_states
    return error.sqlstate in states


def _remedy(url: ServerUrl) -> str:
    """Name the sources of a password, and the authentication database of the user."""
    words = url.words
    file = f" or use {words.password_file}" if words.password_file else ""
    source = f"; {url.user} is looked up in {url.auth_source} ({words.auth_source_option}=)"
    return f"set {words.password_variable}{file}{source if url.auth_source else ''}"


def _introduction(url: ServerUrl, target: Target, driver: Driver) -> Introduction:
    dialect = url.words.dialect
    driver.subject = url.text
    query = dialect.introduction(target.database)
    answers = driver.sql(target, query.statements, limit=driver.patience.operation)
    return query.read([answer.rows for answer in answers])


def try_query(
    target: Target,
    query: Query[T] | None,
    driver: Driver,
    warn: Callable[[TargetError], object] = lambda _: None,
) -> T | None:
    """Return the answer to a query; None and a call of `warn` if it is not supported."""
    if query is None:
        return None
    try:
        answers = driver.sql(target, query.statements, limit=driver.patience.operation)
    except TargetError as error:
        if error.kind == "connection" or error.is_timeout:
            raise
        warn(error)
        return None
    return query.read([answer.rows for answer in answers])


def _settings(url: ServerUrl, site: RemoteSite, target: Target, driver: Driver) -> AcceptedSettings:
    """Return the values in force of the most telling settings; the user knows the others."""
    known = family(url.dbms)
    wanted = AcceptedSettings(dict.fromkeys(url.words.settings, ""), (), {})
    asked = replace(site, settings=wanted)
    in_force = try_query(target, known.settings_in_force(asked), driver) or {}
    return AcceptedSettings({name: value.text for name, value in in_force.items()}, (), {})


def _replaced(target: Target, **changes: str | Secret) -> Target:
    return msgspec.structs.replace(target, **changes)
