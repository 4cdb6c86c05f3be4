"""SQLite 3.17 and newer: a library that a process of Slowdust's driver loads.

That process takes the place of a server: it is started, limited, watched and stopped like one. It
executes the statements of all clients in its own threads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from slowdust.accounts import Account, Finished
from slowdust.builds.fingerprint import query_server
from slowdust.builds.model import Build
from slowdust.dbms import reserved
from slowdust.dbms.access import Access, Auth, Listen
from slowdust.dbms.family import Commit, Facts, Family, Run, Served, Site, Sizes
from slowdust.dbms.settings import (
    AcceptedSettings,
    InForce,
    Settings,
    check_complaints,
    check_nothing_created,
    unknown_setting,
)
from slowdust.dbms.stages import Query, Row, Stage, Statements, integer
from slowdust.directories import AccountDirectory, files_below
from slowdust.errors import UsageError
from slowdust.sql import Sql
from slowdust.temporary import ENTERABLE, temporary_folder

_PRAGMAS = """
analysis_limit auto_vacuum automatic_index cache_size cache_spill cell_size_check
checkpoint_fullfsync encoding foreign_keys fullfsync journal_mode journal_size_limit locking_mode
mmap_size page_size read_uncommitted recursive_triggers reverse_unordered_selects secure_delete
synchronous temp_store threads wal_autocheckpoint
"""
KNOWN = tuple(_PRAGMAS.split())
"""Pragmas that are settings; other pragmas read, check or change the database."""
_FIRST = ("page_size", "auto_vacuum", "encoding", "journal_mode")
"""Settings to set first, in this order: others depend on them, or they need an empty database."""
_WORDS: Mapping[str, tuple[str, ...]] = {
    "synchronous": ("off", "normal", "full", "extra"),
    "temp_store": ("default", "file", "memory"),
    "auto_vacuum": ("none", "full", "incremental"),
}
"""Setting -> the words for its values 0, 1, ..."""
_NAMES: Mapping[str, tuple[str, ...]] = {
    "encoding": ("utf-8", "utf-16", "utf-16le", "utf-16be"),
    "journal_mode": ("delete", "truncate", "persist", "memory", "wal", "off"),
    "locking_mode": ("normal", "exclusive"),
}
"""Setting -> its values, if they are not numbers."""
_BOOLEANS = {"on": "1", "yes": "1", "true": "1", "off": "0", "no": "0", "false": "0"}


def commit(settings: Mapping[str, str], journal_by_default: str) -> Commit:
    """Return whether a commit waits for the disk; with a write-ahead log it needs `full`."""
    level = number("synchronous", settings.get("synchronous", "full"))
    journal = settings.get("journal_mode", journal_by_default).lower()
    needed = 2 if journal == "wal" else 1
    waits = level.isdigit() and int(level) >= needed and journal not in ("memory", "off")
    return Commit(waits, f"synchronous={settings.get('synchronous', 'full')}")


def cache_size(size: int) -> str:
    """Write a size in bytes for `cache_size`: negative values are KiB, positive ones pages."""
    return f"-{max(1, size >> 10)}"


def ordered(values: Mapping[str, str], dbms: str) -> list[tuple[str, str]]:
    """Return settings in the order to set them.

    Raises UsageError for a value that is neither a word nor a number.
    """
    for name, value in values.items():
        if not re.fullmatch(r"-?\w+(-\w+)*", value, re.ASCII):
            raise UsageError(f"{name!r} = {value!r} cannot be a setting of {dbms}")
    return sorted(values.items(), key=lambda item: (_place(item[0]), item[0]))


def number(name: str, value: str) -> str:
    """Return a value as SQLite writes it: a number for most words."""
    word = value.lower()
    if word in _WORDS.get(name, ()):
        return str(_WORDS[name].index(word))
    return _BOOLEANS.get(word, word)


def complaint(name: str, value: str) -> str | None:
    """Say what is wrong with a value, which SQLite would ignore; None if it is valid."""
    if name in _NAMES:
        if value.lower() in _NAMES[name]:
            return None
        return f"{name} = {value} (choose {', '.join(_NAMES[name])})"
    if number(name, value).removeprefix("-").isdigit():
        return None
    words = ", ".join(_WORDS.get(name, ()))
    return f"{name} = {value} ({f'choose {words}' if words else 'write a number'})"


def _place(name: str) -> int:
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)


_DATABASE = "slowdust.db"
_READY = "ready"
"""The file that the process writes when it accepts commands; see driver/src/embedded.rs."""
_LONGEST_PID = 32
_SERVER = "slowdust-driver: "
_FATAL_STATES = {
    "SQLITE_CANTOPEN": "the database cannot be opened",
    "SQLITE_CORRUPT": "the database is damaged",
    "SQLITE_FULL": "the disk is full",
    "SQLITE_IOERR": "the disk failed",
    "SQLITE_NOMEM": "out of memory",
    "SQLITE_NOTADB": "the database is damaged",
}
_BYTES_PER_ROW = 230
_CHECKPOINT = "PRAGMA wal_checkpoint(TRUNCATE)"
_DEPTH = "max(length(s.path) - length(replace(s.path, '/', '')))"
"""A page's path has a slash for the root and one for each level below it."""
_SIZES = (
    "SELECT (SELECT page_count FROM pragma_page_count) "
    "* (SELECT page_size FROM pragma_page_size), "
    "coalesce(sum(CASE WHEN m.type = 'table' THEN s.pgsize END), 0), "
    "coalesce(sum(CASE WHEN m.type = 'index' THEN s.pgsize END), 0) "
    "FROM dbstat s JOIN sqlite_master m ON m.name = s.name"
)
_TREES = (
    "SELECT m.type, m.tbl_name, m.name, count(*), sum(s.pagetype = 'leaf'), "
    f"{_DEPTH} FROM dbstat s JOIN sqlite_master m ON m.name = s.name "
    "WHERE m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND s.pagetype <> 'overflow' "
    "GROUP BY m.type, m.tbl_name, m.name"
)


class Sqlite(Family):
    """SQLite."""

    name = "sqlite"
    database = "main"
    sql = Sql("sqlite", reserved.SQLITE, reads_names_as_texts=True, searches_in_tables=True)
    background_settings = ("wal_autocheckpoint",)
    usual_start = 1.0
    usual_count = 4.0
    without: Mapping[str, str] = {
        "partitions": "SQLite has no partitioned tables",
        "encryption": "SQLite has no network connections",
    }

    def bytes_per_row(self, engine: str | None) -> int:
        return _BYTES_PER_ROW

    def commit(self, settings: Mapping[str, str], engine: str | None) -> Commit:
        return commit(settings, journal_by_default="delete")

    def render_bytes(self, size: int) -> str:
        return cache_size(size)

    def pool_settings(self, size: int, engine: str | None) -> Mapping[str, str]:
        return {"cache_size": self.render_bytes(size)}

    def accept(self, build: Build, account: Account, settings: Settings) -> AcceptedSettings:
        """Set each setting, and ask the library for its value."""
        check_nothing_created(self.name, settings)
        for name in settings.required:
            if name not in KNOWN:
                raise unknown_setting(build, name, KNOWN)
        given = {**settings.optional, **settings.required}
        settings.among({*KNOWN, *settings.optional}, build, KNOWN)
        reported = _reported(build, account, given)
        unknown = settings.required.keys() - reported.keys()
        accepted = settings.among(reported, build, set(KNOWN) - unknown)
        check_complaints(
            build,
            [
                f"{name} = {given[name]} (remains {value})"
                for name, value in reported.items()
                if not _is_same(name, given[name], value)
            ],
        )
        return accepted

    def access_by(self, listen: Listen, build: Build) -> Access:
        """Return an access to the process, which has only a socket. Raises UsageError."""
        access = Access(listen)
        self.check_access(build, access)
        return access

    def check_access(self, build: Build, access: Access) -> None:
        if access.listen is not Listen.SOCKET or access.auth is not Auth.TRUST:
            raise UsageError(
                "sqlite has no server: it has no TCP, no authentication, and cannot be compared "
                "with a server given by URL"
            )

    def create(self, site: Site, run: Run) -> None:
        """Do nothing: the process creates the database when it starts."""

    def configuration(self, site: Site) -> str:
        return _lines(site.settings.values)

    def server_command(self, site: Site) -> list[str]:
        return [
            *site.build.command(site.build.server),
            "--serve",
            str(site.socket_dir),
            "--database",
            str(site.data_dir / _DATABASE),
            "--settings",
            str(site.config_file),
        ]

    def is_ready(self, site: Site, pid: int) -> bool:
        """Read the process's file, which may be from an earlier process."""
        try:
            with AccountDirectory.opened(site.data_dir, site.account) as directory:
                return directory.read(_READY, _LONGEST_PID) == str(pid).encode()
        except FileNotFoundError:
            return False

    def error_line(self, log: Sequence[str]) -> str | None:
        own = [line.removeprefix(_SERVER) for line in log if line.startswith(_SERVER)]
        return own[-1] if own else None

    def fatal_error(self, state: str) -> str | None:
        return _FATAL_STATES.get(state)

    def after_load(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        """Gather planner statistics, and checkpoint the log."""
        return [*(Statements((f"ANALYZE {table}",)) for table in tables), _checkpoint()]

    def write_out(self, site: Served) -> list[Stage]:
        return [_checkpoint()]

    def data_files(self, site: Served) -> list[Path]:
        """Return the database and its log, which has the latest pages."""
        return [] if site.files is None else files_below(site.files, f"{_DATABASE}*")

    def page_size(self, site: Served) -> Query[int | None]:
        return Query(("SELECT page_size FROM pragma_page_size",), integer)

    def sizes(self, site: Served, tables: Sequence[str]) -> Query[Sizes]:
        return Query((_SIZES,), _read_sizes, (_checkpoint(),))

    def facts(self, site: Served) -> Query[Facts]:
        return Query((_TREES,), _read_trees)

    def settings_in_force(self, site: Served) -> Query[dict[str, InForce]]:
        given = sorted(site.settings.values.items())

        def read(answers: Sequence[Sequence[Row]]) -> dict[str, InForce]:
            return {
                name: InForce(str(value), _is_same(name, wanted, str(value)))
                for (name, wanted), (value,) in zip(given, answers[0], strict=False)
            }

        return Query(("; ".join(f"PRAGMA {name}" for name, _ in given) or "SELECT 1",), read)

    def buffer_pool(self, site: Served) -> Query[int | None]:
        return Query(
            (
                "SELECT CASE WHEN c.cache_size < 0 THEN -1024 * c.cache_size "
                "ELSE c.cache_size * p.page_size END FROM pragma_cache_size c, pragma_page_size p",
            ),
            integer,
        )


FAMILY = Sqlite()


def _read_sizes(answers: Sequence[Sequence[Row]]) -> Sizes:
    (((data, table, index),),) = answers
    return Sizes(int(data or 0), int(table or 0), int(index or 0))


def _read_trees(answers: Sequence[Sequence[Row]]) -> Facts:
    (trees,) = answers
    return {
        str(table) if kind == "table" else f"{table}.{name}": {
            "pages": float(pages or 0),
            "leaf_pages": float(leaves or 0),
            "height": float(height or 0),
        }
        for kind, table, name, pages, leaves, height in trees
    }


def _checkpoint() -> Statements:
    return Statements((_CHECKPOINT,))


def _lines(values: Mapping[str, str]) -> str:
    """Write `name = value` lines. Raises UsageError for a value that is no word or number."""
    return "".join(f"{name} = {value}\n" for name, value in ordered(values, "sqlite"))


def _reported(build: Build, account: Account, values: Mapping[str, str]) -> dict[str, str]:
    """Set the settings and return the library's values of those that it knows."""
    with temporary_folder(account.temporary_root(), ENTERABLE) as folder:
        scratch = folder / "scratch"  # for a temporary database
        account.make_directory(scratch)
        done: Finished = query_server(
            build,
            account,
            ["--print-settings"],
            text=_lines(values),
            environment={"TMPDIR": str(scratch)},
        )
    if done.returncode != 0:
        lines = [line.removeprefix(_SERVER) for line in done.stderr.splitlines()]
        check_complaints(build, lines[-1:] or [f"exit code {done.returncode}"])
    pairs = (line.partition(" = ") for line in done.stdout.splitlines())
    return {name: value for name, _, value in pairs if name in values}


def _is_same(name: str, given: str, reported: str) -> bool:
    return number(name, given) == number(name, reported)
