"""FerretDB 1, which keeps its documents in SQLite: its library is part of the server.

The settings are SQLite's pragmas, which the server sets on each of its connections.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from slowdust.accounts import Account
from slowdust.builds.model import Build
from slowdust.dbms import pragmas
from slowdust.dbms.access import USER, Access, Auth
from slowdust.dbms.documents.family import (
    DocumentFamily,
    address,
    analyze,
    check_trust,
    last_line,
    socket_of,
)
from slowdust.dbms.documents.replies import command
from slowdust.dbms.family import Commit, Row, Served, Site, Stage
from slowdust.dbms.settings import AcceptedSettings, Settings
from slowdust.dbms.settings_query import check_complaints, unknown_setting
from slowdust.errors import UsageError
from slowdust.versions import version_order

_SCRAM_SINCE = "1.21.0"
_KNOWN = tuple(name for name in pragmas.KNOWN if name != "encoding")
"""The text of documents is JSON in UTF-8."""
_BYTES_PER_ROW = 460
_NOTHING = command("ping")
_JOURNAL = "wal"
_ERRORS = ("FATAL", "panic:", "ERROR", "ferretdb: error:")


class FerretDB(DocumentFamily):
    """FerretDB over SQLite."""

    name = "ferretdb"
    not_counted = (
        "valgrind cannot count the work of ferretdb: a program in Go receives its messages without "
        "the C library, by which windows begin and end."
    )
    background_settings = ("wal_autocheckpoint",)

    def bytes_per_row(self, engine: str | None) -> int:
        """Return the bytes in SQLite's B-trees: a document is JSON with the types of its values."""
        del engine
        return _BYTES_PER_ROW

    def commit(self, settings: Mapping[str, str], engine: str | None) -> Commit:
        """Return whether a command waits for SQLite's log on disk."""
        del engine
        return pragmas.commit(settings, _JOURNAL)

    def render_bytes(self, size: int) -> str:
        """Write a size as `cache_size` has it."""
        return pragmas.cache_size(size)

    def accept(self, build: Build, account: Account, settings: Settings) -> AcceptedSettings:
        """Check the settings here: the server passes them on, and SQLite ignores what is wrong."""
        self.check_created(settings.create)
        for name in settings.required:
            if name not in _KNOWN:
                raise unknown_setting(build, name, _KNOWN)
        known = {name: v for name, v in settings.optional.items() if name in _KNOWN}
        skipped = tuple(sorted(settings.optional.keys() - known.keys()))
        values = {**known, **settings.required}
        told = (pragmas.complaint(name, value) for name, value in values.items())
        check_complaints(build, [complaint for complaint in told if complaint is not None])
        pragmas.ordered(values, self.name)
        return AcceptedSettings(values, skipped, settings.create)

    def check_access(self, build: Build, access: Access) -> None:
        """Accept trust, and SCRAM where the server has it without a server beside it."""
        check_trust(self.name, access)
        version = build.facts.version
        if access.auth is Auth.SCRAM and version_order(version) < version_order(_SCRAM_SINCE):
            raise UsageError(f"ferretdb {version} has no authentication by scram")

    def server_command(self, site: Site) -> list[str]:
        """Return the command of the server, without reports to its makers."""
        settings = pragmas.ordered(site.settings.values, self.name)
        set_each = "&".join(f"_pragma={quote(f'{name}({value})')}" for name, value in settings)
        return [
            *site.build.command(site.build.server),
            "--handler=sqlite",
            f"--sqlite-url=file:{site.data_dir}/{set_each and f'?{set_each}'}",
            f"--state-dir={site.data_dir}",
            f"--listen-unix={socket_of(site)}",
            f"--listen-addr={address(site)}",
            "--debug-addr=-",
            "--telemetry=disable",
            "--log-level=error",
            *self._credentials(site),
        ]

    def _credentials(self, site: Site) -> list[str]:
        """Return the options that make the only user, whose password ends with the server."""
        if site.access.password is None:
            return []
        return [
            "--test-enable-new-auth",
            f"--setup-database={self.database}",
            f"--setup-username={USER}",
            f"--setup-password={site.access.password}",
        ]

    def error_line(self, log: Sequence[str]) -> str | None:
        """Return the last error."""
        return last_line(log, _ERRORS)

    def after_load(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        """Gather the statistics of SQLite's planner, which comes with a report of each size."""
        del site
        return analyze(tables)

    def before_sizes(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        """Return no stages: the sizes are those of the pages in use."""
        del site, tables
        return []

    def facts_statements(self, site: Served) -> Sequence[str]:
        """Return none: the server tells nothing of its pages."""
        del site
        return ()

    def read_facts(
        self, site: Served, answers: Sequence[Sequence[Row]]
    ) -> dict[str, dict[str, float]]:
        """Return nothing."""
        del site, answers
        return {}

    def counters_statement(self, site: Served) -> str:
        """Return a command without an answer: the server does not count its work."""
        del site
        return _NOTHING

    def read_counters(self, site: Served, rows: Sequence[Row]) -> dict[str, float]:
        """Return nothing."""
        del site, rows
        return {}

    def settings_statement(self, site: Served) -> str:
        """Return a command without an answer: the server does not tell SQLite's settings."""
        del site
        return _NOTHING

    def buffer_pool_statement(self, site: Served) -> None:
        """Return none: each connection of the server to SQLite has a cache of its own."""
        del site


FAMILY = FerretDB()
