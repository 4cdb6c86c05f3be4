"""How a family reaches running servers, which are contenders by their URL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from slowdust.dbms.access import Verify
from slowdust.dbms.stages import Query, Row

PREFIX = "slowdust_"
"""The prefix of the names of Slowdust's own schemas."""


@dataclass(frozen=True)
class Introduction:
    """A running server's version and product, and the tables in the URL's database."""

    version: str
    product: str
    """The server's name: 'PostgreSQL', 'MySQL Community Server - GPL'."""
    foreign_tables: Sequence[str]
    """The tables of the URL's database that Slowdust did not create."""


@dataclass(frozen=True)
class Dialect:
    """The statements that ask a running server for its introduction and create a schema."""

    introduction: Callable[[str], Query[Introduction]]
    """A function: the URL's database -> the query. One of its statements needs rights there."""
    create: Callable[[str], list[str]]
    """A function: name of a schema -> the statements that create it empty."""
    drop: Callable[[str], list[str]]
    schema_is_database: bool
    """Whether a schema is a database of its own; else it is part of the URL's database."""
    table: str = "table"
    engine: Query[str | None] | None = None
    """The query for the storage engine; None if the family knows it."""


def sql_dialect(identity: str, foreign_tables: str, *, schema_is_database: bool) -> Dialect:
    """Return the statements of SQL.

    `identity` returns one row, the version and the name of the product; `foreign_tables` lists the
    tables of the URL's database that Slowdust did not create.
    """

    def drop(schema: str) -> list[str]:
        return [f"DROP SCHEMA IF EXISTS {schema}{'' if schema_is_database else ' CASCADE'}"]

    return Dialect(
        introduction=lambda _: Query((identity, foreign_tables), _introduced),
        create=lambda schema: [*drop(schema), f"CREATE SCHEMA {schema}"],
        drop=drop,
        schema_is_database=schema_is_database,
    )


def _introduced(answers: Sequence[Sequence[Row]]) -> Introduction:
    """Read the rows; packagers append text to the number in some versions."""
    identity, tables = answers
    ((version, product),) = identity
    return Introduction(
        str(version).partition(" ")[0], str(product), [str(name) for (name,) in tables]
    )


@dataclass(frozen=True)
class ByUrl:
    """The words of a DBMS's URLs, and the statements for its servers."""

    schemes: tuple[str, ...]
    port: int
    database: str
    """The database to connect to if a URL names none; every server has it."""
    password_variable: str
    """The environment variable with the password: the one that the DBMS's own client reads."""
    password_states: frozenset[str]
    """The error states with which a server refuses a wrong or missing password."""
    tls_option: str
    """The option of a URL for the encryption of the connection: 'sslmode'."""
    tls_words: Mapping[str, Verify | None]
    """The values of that option; None is for no encryption."""
    file_options: tuple[str, str, str]
    """The options that name the authorities, the client's certificate and its key."""
    settings: tuple[str, ...]
    """The most informative settings; the report has those that the server knows."""
    dialect: Dialect
    unproven_states: frozenset[str] = frozenset()
    """The error states with which it refuses a statement if no password was needed to connect."""
    password_file: str | None = None
    """The file of passwords, as messages name it, if any."""
    socket_option: str | None = None
    """The option of a URL that names the directory or file of a Unix socket.

    None if the host is the file, with %2F for each slash.
    """
    laxer_options: Mapping[str, Verify] = field(default_factory=dict)
    """Option -> the strictest verification that remains if the option is true."""
    auth_source_option: str | None = None
    """The option for the database that holds the user; None if users belong to no database."""
    fixed_options: Mapping[str, str] = field(default_factory=dict)
    """Options with a single valid value -> that value."""
    several_hosts_schemes: tuple[str, ...] = ()
    """The schemes of URLs that name all hosts of a cluster."""
    not_in_names: str = ""
    """The characters that are not allowed in the name of a database."""
    settings_tell_commits: bool = True
    """Whether `settings` determine what a commit waits for."""

    def tls_text(self, verify: Verify | None) -> str:
        """Return the options for this verification: 'sslmode=require'."""
        words = {each: word for word, each in self.tls_words.items()}
        if verify in words:
            return f"{self.tls_option}={words[verify]}"
        laxer = next(option for option, each in self.laxer_options.items() if each is verify)
        return f"{self.tls_option}={words[Verify.IDENTITY]}&{laxer}=true"
