"""What a family knows of servers that it did not start, which are contenders by their URL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from slowdust.dbms.access import Verify
from slowdust.dbms.stages import Query, Row

PREFIX = "slowdust_"
"""The beginning of the names of Slowdust's own schemas."""


@dataclass(frozen=True)
class Introduction:
    """What a running server says of itself, and of what the URL's database has."""

    version: str
    product: str
    """The server's name: 'PostgreSQL', 'MySQL Community Server - GPL'."""
    foreign_tables: Sequence[str]
    """The tables of the URL's database that are not of Slowdust."""


@dataclass(frozen=True)
class Dialect:
    """The statements by which a running server introduces itself, and has a schema made."""

    introduction: Callable[[str], Query[Introduction]]
    """A function: the URL's database -> the query, one of whose statements needs rights in it."""
    create: Callable[[str], list[str]]
    """A function: name of a schema -> the statements that make it, without what it had."""
    drop: Callable[[str], list[str]]
    schema_is_database: bool
    """Whether a schema is a database of its own; else it lies within the URL's."""
    table: str = "table"
    engine: Query[str | None] | None = None
    """The query for the storage engine; None where the family knows it."""


def sql_dialect(identity: str, foreign_tables: str, *, schema_is_database: bool) -> Dialect:
    """Return the statements of SQL.

    `identity` has one row, the version and the name of the product; `foreign_tables` lists the
    tables of the URL's database that are not of Slowdust.
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
    """Read the rows; builders write more than the number into some versions."""
    identity, tables = answers
    ((version, product),) = identity
    return Introduction(
        str(version).partition(" ")[0], str(product), [str(name) for (name,) in tables]
    )


@dataclass(frozen=True)
class ByUrl:
    """The words of a DBMS's URLs, and what is said to its servers."""

    schemes: tuple[str, ...]
    port: int
    database: str
    """The database to connect to where a URL names none; every server has it."""
    password_variable: str
    """The environment variable that a password is read from: that of its own programs, if any."""
    password_states: frozenset[str]
    """The states of errors by which a server refuses a password, or a connection without one."""
    tls_option: str
    """The option of a URL that says how the connection is encrypted: 'sslmode'."""
    tls_words: Mapping[str, Verify | None]
    """The values of that option; None is for no encryption."""
    file_options: tuple[str, str, str]
    """The options that name the authorities, the client's certificate and its key."""
    settings: tuple[str, ...]
    """The settings that tell most of how a server works; those that it has are in the report."""
    dialect: Dialect
    unproven_states: frozenset[str] = frozenset()
    """The states by which it refuses a statement over a connection that needed no password."""
    password_file: str | None = None
    """The file of passwords, as it is told to users; None where there is none."""
    socket_option: str | None = None
    """The option of a URL that names the directory or file of a Unix socket.

    None where the host is the file, with %2F for each slash.
    """
    laxer_options: Mapping[str, Verify] = field(default_factory=dict)
    """The options that, when they are true, have no more than this verified."""
    auth_source_option: str | None = None
    """The option that names the database that has the user; None where no database has users."""
    fixed_options: Mapping[str, str] = field(default_factory=dict)
    """The options that may be given, with the only value that they can have."""
    several_hosts_schemes: tuple[str, ...] = ()
    """The schemes of URLs that stand for all hosts of a cluster."""
    not_in_names: str = ""
    """The characters that the name of a database cannot have."""
    settings_tell_commits: bool = True
    """Whether the settings found say what a commit waits for."""

    def tls_text(self, verify: Verify | None) -> str:
        """Return the options that have a connection verified so: 'sslmode=require'."""
        words = {each: word for word, each in self.tls_words.items()}
        if verify in words:
            return f"{self.tls_option}={words[verify]}"
        laxer = next(option for option, each in self.laxer_options.items() if each is verify)
        return f"{self.tls_option}={words[Verify.IDENTITY]}&{laxer}=true"
