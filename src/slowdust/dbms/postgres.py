"""PostgreSQL 10 and newer: settings, maintenance, and queries for facts.

Waits are sampled from `pg_stat_activity`, with the blocking processes.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from slowdust.accounts import Account
from slowdust.builds.fingerprint import query_server
from slowdust.builds.model import Build
from slowdust.dbms.access import USER, Auth
from slowdust.dbms.family import Commit, Facts, Run, Served, Shutdown, Site, Sizes
from slowdust.dbms.postgres_protocol import BY_URL, PostgresProtocol
from slowdust.dbms.settings import AcceptedSettings, Settings, check_complaints
from slowdust.dbms.stages import (
    Query,
    Row,
    SampledWaits,
    SessionSample,
    Stage,
    Statements,
    Waits,
    WaitUntil,
    integer,
)
from slowdust.directories import AccountDirectory, files_below
from slowdust.errors import SlowdustError, UsageError
from slowdust.store.preparation import LOG_BYTES, SERVER
from slowdust.store.waits import WaitKind
from slowdust.temporary import ENTERABLE, temporary_folder
from slowdust.units import Second
from slowdust.versions import version_numbers

_STATEMENT = (
    "WITH look AS (SELECT random() < 0.05 AS for_blockers) "
    "SELECT extract(epoch FROM clock_timestamp()), pid, state, wait_event_type, wait_event, "
    "CASE WHEN for_blockers AND wait_event_type = 'Lock' "
    "THEN array_to_string(pg_blocking_pids(pid), ',') END FROM pg_stat_activity CROSS JOIN look "
    "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
)
"""Shows all other sessions and, in one of twenty samples, the blockers of sessions that wait for a
lock. `pg_blocking_pids` takes all partition locks of the lock manager, and others wait for them."""
_CLIENT = "Client/ClientRead"
_KINDS: dict[str, WaitKind] = {
    "Lock": "lock",
    "LWLock": "latch",
    "BufferPin": "latch",
    "Buffer": "latch",
    "IO": "io",
    "Client": "client",
}
"""Type of a wait event (PostgreSQL manual, "Wait Events") -> its kind."""
_OTHER_KINDS: dict[str, WaitKind] = {
    # A session waits for another one that writes and flushes the log for both.
    "LWLock/WALWrite": "commit",
    "Timeout/SpinDelay": "latch",
}


def _read(answers: Sequence[Sequence[Row]]) -> list[SessionSample]:
    """Read the sessions; an idle one waits for its client."""
    samples = []
    for at, process, state, kind_of_event, name, blockers in answers[0]:
        event = None if kind_of_event is None else event_name(kind_of_event, str(name))
        if state != "active":
            event = _CLIENT
        samples.append(
            SessionSample(
                at=float(at or 0),
                process=int(process or 0),
                event=event,
                kind=None if event is None else wait_kind(event),
                blockers=tuple(int(pid) for pid in (blockers or "").split(",") if pid),
            )
        )
    return samples


def event_name(kind: str, name: str) -> str:
    """Return PostgreSQL 17's name of an event, so that versions can be compared.

    IO/WALSync became IO/WalSync in 17; the locks LWLock/WALWriteLock and LWLock/buffer_content
    became LWLock/WALWrite and LWLock/BufferContent in 13.
    """
    if kind == "IO" and name.startswith("WAL"):
        name = f"Wal{name[3:]}"
    elif kind == "LWLock" and name.islower():
        name = "".join(part.capitalize() for part in name.split("_"))
    elif kind == "LWLock":
        name = name.removesuffix("Lock")
    return f"{kind}/{name}"


def wait_kind(event: str) -> WaitKind:
    if event in _OTHER_KINDS:
        return _OTHER_KINDS[event]
    kind = _KINDS.get(event.partition("/")[0], "other")
    return "sync" if kind == "io" and event.endswith("Sync") else kind


WAITS = SampledWaits("pg_stat_activity", Query((_STATEMENT,), _read))

_RESERVED = """
config_file data_directory external_pid_file hba_file ident_file listen_addresses log_destination
logging_collector port unix_socket_directories
"""
_RESERVED_SETTINGS = frozenset(_RESERVED.split())
"""Settings that Slowdust needs to find, watch and remove an instance."""
_DIRECTIVES = ("include", "include_dir", "include_if_exists")
"""Directives of a configuration file that read other files."""


def accepted_settings(build: Build, account: Account, settings: Settings) -> AcceptedSettings:
    """Ask the server, which can check a configuration without starting.

    Raises UsageError for an unknown setting or a value that it refuses.
    """
    settings.check_not_reserved(_RESERVED_SETTINGS)
    for name in sorted({*_DIRECTIVES} & {*settings.required, *settings.optional}):
        raise UsageError(f"{name} is not a setting: write the included settings themselves")
    for name in settings.create.keys() - {"data_checksums"}:
        raise UsageError(f"[create] of postgres can only have data_checksums, not {name!r}")
    given = {**settings.optional, **settings.required}
    complaints = _configuration_complaints(build, account, given)
    pattern = re.compile(r'unrecognized configuration parameter "([^"]+)"')
    unknown = {match.group(1) for line in complaints if (match := pattern.search(line))}
    if not unknown:
        check_complaints(build, complaints)
        return AcceptedSettings(given, (), settings.create)
    described = _described_settings(build, account) if unknown & settings.required.keys() else []
    accepted = settings.among(given.keys() - unknown, build, described)
    check_complaints(build, _configuration_complaints(build, account, accepted.values))
    return accepted


def configuration_text(values: Mapping[str, str]) -> str:
    """Write a configuration file. Raises UsageError for a name or value that cannot be written."""
    lines = []
    for name, value in sorted(values.items()):
        if not re.fullmatch(r"[A-Za-z_][\w.$]*", name) or "\n" in value or "\0" in value:
            raise UsageError(f"{name!r} = {value!r} cannot be a setting of postgres")
        lines.append(f"{name} = {quoted(value)}\n")
    return "".join(lines)


def quoted(value: str) -> str:
    text = value.replace("\\", "\\\\").replace("'", "''")
    return f"'{text}'"


def _configuration_complaints(
    build: Build, account: Account, values: Mapping[str, str]
) -> list[str]:
    """Return the server's complaints about a configuration; empty if it accepts the values.

    `-C` prints one setting. The server reads and checks the whole configuration first, and needs no
    data directory. Unlike `--describe-config` it also knows hidden settings.
    """
    with temporary_folder(account.temporary_root(), ENTERABLE) as folder:
        (folder / "postgresql.conf").write_text(configuration_text(values), encoding="utf-8")
        (folder / "postgresql.conf").chmod(0o644)
        done = query_server(build, account, ["-D", str(folder), "-C", "work_mem"])
    if done.returncode == 0:
        return []
    lines = [line.partition(":  ")[2] or line for line in done.stderr.splitlines() if line.strip()]
    complaints = [
        re.sub(r' in file ".*" line \d+$', "", line)
        for line in lines
        if not line.startswith(("skipping missing", "configuration file"))
    ]
    return complaints or [f"exit code {done.returncode}"]


def _described_settings(build: Build, account: Account) -> list[str]:
    described = query_server(build, account, ["--describe-config"]).stdout.splitlines()
    return [line.partition("\t")[0] for line in described]


_STATUS_LINE = 7
"""The line of postmaster.pid with the server's state, counted from 0, since version 10."""
_LONGEST_STATUS = 4096
_OFF = frozenset({"0", "of", "off", "f", "fa", "fal", "fals", "false", "n", "no"})
"""Words for false; PostgreSQL accepts every unambiguous prefix."""
_AUTH_METHODS = {Auth.TRUST: "trust", Auth.MD5: "md5", Auth.SCRAM: "scram-sha-256"}
_BYTES_PER_ROW = 320
_FIRST_WITH_ONE_NUMBER = 10
"""The first major version with a single number: 9.5 and 9.6 are different major versions."""
_CHECKSUMS_BY_DEFAULT_SINCE = (18,)
_INDEX_CLEANUP_SINCE = (12,)
_LONGEST_SNAPSHOT: Second = 60.0
_COMMIT_TO_DISK = Statements(
    (
        "DO $$BEGIN SET LOCAL synchronous_commit = on; FOR part IN 1..32 LOOP "
        # A block with an exception clause is a subtransaction.
        "BEGIN PERFORM pg_logical_emit_message(true, 'slowdust', ''); "
        "EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END$$",
    )
)
"""A synchronous commit, which waits until the log of this and all earlier commits is on disk.

Until then rows of an asynchronous commit get no hint bits, and VACUUM does not mark their pages as
all-visible. A transaction that writes no log (`txid_current`) would not wait. The server keeps one
log position for each group of 32 transaction numbers: the position of the group's last commit. The
32 subtransactions ensure that no commit of a VACUUM shares a group with a commit of the load."""
_CHECKPOINT = Statements(("CHECKPOINT",))
_SHARED_STATISTICS_SINCE = (15,)
_LONGEST_GOODBYE: Second = 10.0
_ALONE = WaitUntil(
    "the closed sessions have exited",
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
    lambda rows: rows[0][0] == "0",
    _LONGEST_GOODBYE,
)
_STATISTICS_WRITTEN = Statements(("SELECT pg_sleep(0.6)",))
"""A wait for older servers, whose statistics may be half a second old."""
_NO_OLD_SNAPSHOT = WaitUntil(
    "no other transaction needs old row versions",
    "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
    "AND (backend_xid IS NOT NULL OR backend_xmin IS NOT NULL) "
    # The snapshot of one VACUUM does not hold back another.
    "AND query NOT LIKE 'autovacuum: VACUUM%'",
    lambda rows: rows[0][0] == "0",
    _LONGEST_SNAPSHOT,
)

_SIZES = (
    "SELECT pg_database_size(current_database()) - coalesce(sum("
    "pg_total_relation_size(c.oid)) FILTER (WHERE n.nspname <> current_schema()), 0), "
    "coalesce(sum(pg_table_size(c.oid)) FILTER (WHERE n.nspname = current_schema()), 0), "
    "coalesce(sum(pg_indexes_size(c.oid)) FILTER (WHERE n.nspname = current_schema()), 0) "
    "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.relkind IN ('r', 'm') AND n.nspname <> 'information_schema' "
    "AND n.nspname NOT LIKE 'pg\\_%'"
)
"""Another schema may have another contender's tables, if the server is shared: exclude them."""

_LEVEL_AT = 24 + 12
"""Offset of the root's level, after the page header, magic number, version and root block.

Its least significant byte is the first one on all processors with builds."""

_FACTS = (
    "SELECT c.relname, t.relname, "
    "pg_relation_size(c.oid) / current_setting('block_size')::int, "
    "c.relpages - c.relallvisible, c.reltuples, s.n_dead_tup, "
    "CASE WHEN a.amname = 'btree' AND c.relkind = 'i' THEN 1 + "
    f"get_byte(pg_read_binary_file(pg_relation_filepath(c.oid), {_LEVEL_AT}, 4), 0) END "
    "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "LEFT JOIN pg_index i ON i.indexrelid = c.oid LEFT JOIN pg_class t ON t.oid = i.indrelid "
    "LEFT JOIN pg_am a ON a.oid = c.relam LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid "
    "WHERE c.relkind IN ('r', 'i') AND n.nspname <> 'information_schema' "
    "AND n.nspname NOT LIKE 'pg\\_%'",
    "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn) FROM pg_control_checkpoint()",
)
_OF_TABLE = ("pages", "pages_not_all_visible", "rows", "dead_rows")

_COUNTERS = (
    "SELECT sum(heap_blks_read + heap_blks_hit), sum(idx_blks_read + idx_blks_hit), "
    "(SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_user_tables), "
    "pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') FROM pg_statio_user_tables"
)
_COUNTED = ("heap_blocks", "index_blocks", "rows_fetched", LOG_BYTES)


def _read_facts(answers: Sequence[Sequence[Row]]) -> dict[str, dict[str, float]]:
    relations, ((checkpoint_age,),) = answers
    facts: dict[str, dict[str, float]] = {}
    for name, table, pages, *of_table, height in relations:
        if table is None:
            known = zip(_OF_TABLE, (pages, *of_table), strict=True)
            facts[f"{name}"] = {key: float(value) for key, value in known if value is not None}
        else:
            facts[f"{table}.{name}"] = {"pages": float(pages or 0)}
            if height is not None:
                facts[f"{table}.{name}"]["height"] = float(height)
    if checkpoint_age is not None:
        facts[SERVER] = {"checkpoint_age_bytes": float(checkpoint_age)}
    return facts


def _read_counters(answers: Sequence[Sequence[Row]]) -> dict[str, float]:
    ((row,),) = answers
    return {
        name: float(value) for name, value in zip(_COUNTED, row, strict=True) if value is not None
    }


class Postgres(PostgresProtocol):
    """PostgreSQL: the postmaster, VACUUM, checkpoints, and facts about its files."""

    name = "postgres"
    by_url = BY_URL
    # Autovacuum runs by the clock: under valgrind it would run between other operations each time.
    options_when_counted: tuple[str, ...] = ("-c", "autovacuum=off")
    connections_setting = "max_connections"
    background_settings = ("autovacuum", "jit")
    sessions_are_processes = True
    usual_start = 2.5
    usual_count = 9.0
    stop_signals: Mapping[Shutdown, tuple[signal.Signals, ...]] = {
        Shutdown.ORDERLY: (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL),
        Shutdown.AT_ONCE: (signal.SIGQUIT, signal.SIGKILL),
    }

    def major(self, version: tuple[int, ...]) -> tuple[int, ...]:
        return version[:1] if version[0] >= _FIRST_WITH_ONE_NUMBER else version[:2]

    def bytes_per_row(self, engine: str | None) -> int:
        return _BYTES_PER_ROW

    def commit(self, settings: Mapping[str, str], engine: str | None) -> Commit:
        for name in ("fsync", "synchronous_commit"):
            if settings.get(name, "on").lower() in _OFF:
                return Commit(waits_for_disk=False, setting=f"{name}=off")
        return Commit(waits_for_disk=True, setting="synchronous_commit=on")

    def pool_settings(self, size: int, engine: str | None) -> Mapping[str, str]:
        return {"shared_buffers": self.render_bytes(size)}

    def accept(self, build: Build, account: Account, settings: Settings) -> AcceptedSettings:
        return accepted_settings(build, account, settings)

    def auths(self, build: Build) -> Sequence[Auth]:
        return (Auth.SCRAM, Auth.MD5)

    def without_tls(self, build: Build, account: Account) -> str | None:
        return "; ".join(_configuration_complaints(build, account, {"ssl": "on"})) or None

    def create(self, site: Site, run: Run) -> None:
        """Run initdb without syncing: after a crash of the host the data is not needed."""
        command: list[str | Path] = [
            *site.build.command(site.build.program("initdb")),
            f"--pgdata={site.data_dir}",
            f"--username={USER}",
            f"--auth-local={_AUTH_METHODS[site.access.auth]}",
            f"--auth-host={_AUTH_METHODS[(site.access.by_tcp or site.access).auth]}",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ]
        if site.settings.create.get("data_checksums"):
            command.append("--data-checksums")
        elif version_numbers(site.version) >= _CHECKSUMS_BY_DEFAULT_SINCE:
            command.append("--no-data-checksums")
        password = (site.access.by_tcp or site.access).password
        if password is None:
            run(command)
        else:
            file = site.config_file.with_name("password")
            try:
                site.account.make_file(file, f"{password.reveal()}\n".encode())
                run([*command, f"--pwfile={file}"])
            finally:
                file.unlink(missing_ok=True)

    def configuration(self, site: Site) -> str:
        """Return an include of the file that initdb wrote for this machine, then the settings."""
        initial = quoted(str(site.data_dir / "postgresql.conf"))
        return f"include {initial}\n{configuration_text(site.settings.values)}"

    def server_command(self, site: Site) -> list[str]:
        own = {
            "config_file": str(site.config_file),
            "listen_addresses": "127.0.0.1" if site.access.by_tcp else "",
            "port": str(site.port),
            "unix_socket_directories": str(site.socket_dir),
        }
        if site.access.encrypted:
            files = {"ssl_cert_file": str(site.certificate), "ssl_key_file": str(site.key)}
            own |= {"ssl": "on"} | files
        options = [part for name, value in own.items() for part in ("-c", f"{name}={value}")]
        return [*site.build.command(site.build.server), "-D", str(site.data_dir), *options]

    def is_ready(self, site: Site, pid: int) -> bool:
        """Read the server's state from postmaster.pid."""
        try:
            with AccountDirectory.opened(site.data_dir, site.account) as directory:
                text = directory.read("postmaster.pid", _LONGEST_STATUS)
        except FileNotFoundError:
            return False
        lines = text.decode(errors="replace").splitlines()
        return (
            len(lines) > _STATUS_LINE
            and lines[0] == str(pid)  # the file may be from an earlier server
            and lines[_STATUS_LINE].strip() == "ready"
        )

    def error_line(self, log: Sequence[str]) -> str | None:
        """Return the first PANIC, which stops the server, or else the last FATAL."""
        panics, fatals = (_messages_of(severity, log) for severity in ("PANIC", "FATAL"))
        return next(iter([*panics[:1], *fatals[-1:]]), None)

    def after_load(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        return _vacuum("ANALYZE", tables)

    def after_writes(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        """Vacuum with index cleanup, which is optional since version 12."""
        if version_numbers(site.version) < _INDEX_CLEANUP_SINCE:
            return _vacuum("ANALYZE", tables)
        return _vacuum("ANALYZE, INDEX_CLEANUP ON", tables)

    def after_step(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        if site.settings.values.get("autovacuum", "on").lower() in _OFF:
            return []
        return _vacuum_of("ANALYZE", tables)

    def write_out(self, site: Served) -> list[Stage]:
        return [_CHECKPOINT]

    def data_files(self, site: Served) -> list[Path]:
        return [] if site.files is None else files_below(site.files / "base", "*/*")

    def page_size(self, site: Served) -> Query[int | None]:
        return Query(("SELECT current_setting('block_size')",), integer)

    def sizes(self, site: Served, tables: Sequence[str]) -> Query[Sizes]:
        return Query((_SIZES,), _read_sizes)

    def facts(self, site: Served) -> Query[Facts]:
        return Query(_FACTS, _read_facts, _reported(site))

    def counters(self, site: Served) -> Query[dict[str, float]]:
        return Query((_COUNTERS,), _read_counters, _reported(site))

    def waits(self, site: Served) -> Sequence[Waits]:
        return (WAITS,)

    def buffer_pool(self, site: Served) -> Query[int | None]:
        return Query(("SELECT pg_size_bytes(current_setting('shared_buffers'))",), integer)


FAMILY = Postgres()


def _read_sizes(answers: Sequence[Sequence[Row]]) -> Sizes:
    (((data, table, index),),) = answers
    if data is None or table is None or index is None:
        raise SlowdustError("postgres does not report its sizes: the answer has NULL")
    return Sizes(int(data), int(table), int(index))


def _reported(site: Served) -> tuple[Stage, ...]:
    """Return the stages that wait for exiting sessions, which report statistics at exit."""
    if version_numbers(site.version) >= _SHARED_STATISTICS_SINCE:
        return (_ALONE,)
    return (_ALONE, _STATISTICS_WRITTEN)


def _vacuum(options: str, tables: Sequence[str]) -> list[Stage]:
    return [*_vacuum_of(options, tables), _CHECKPOINT]


def _vacuum_of(options: str, tables: Sequence[str]) -> list[Stage]:
    """Return the stages of a VACUUM that can remove all dead rows and mark all pages."""
    vacuum = Statements(tuple(f"VACUUM ({options}) {table}" for table in tables))
    return [_COMMIT_TO_DISK, _NO_OLD_SNAPSHOT, vacuum]


def _messages_of(severity: str, log: Sequence[str]) -> list[str]:
    parts = (line.partition(f"{severity}:  ") for line in log)
    return [f"{severity}: {message}" for _, separator, message in parts if separator]
