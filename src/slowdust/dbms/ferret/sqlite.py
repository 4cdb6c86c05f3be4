"""SQLite as a back end: its library is part of FerretDB, and settings are its pragmas.

The server sets them on each of its connections to SQLite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from slowdust.accounts import Account
from slowdust.builds.model import Build
from slowdust.dbms import pragmas
from slowdust.dbms.documents.client import without_names
from slowdust.dbms.family import Commit
from slowdust.dbms.settings import AcceptedSettings, Settings
from slowdust.dbms.settings_query import check_complaints, check_nothing_created, unknown_setting
from slowdust.dbms.site import Run, Site

_DBMS = "ferretdb"
_KNOWN = tuple(name for name in pragmas.KNOWN if name != "encoding")
"""The text of documents is JSON in UTF-8."""
_JOURNAL = "wal"


class Sqlite:
    """SQLite within FerretDB's own process."""

    bytes_per_row = 590
    """The size in B-trees, of JSON with the types of the values; measured with 1.18.0."""

    def commit(self, settings: Mapping[str, str]) -> Commit:
        """Return whether a command waits for SQLite's log on disk."""
        return pragmas.commit(settings, _JOURNAL)

    def accept(self, build: Build, account: Account, settings: Settings) -> AcceptedSettings:
        """Check the settings here: the server passes them on, and SQLite ignores what is wrong."""
        del account
        check_nothing_created(_DBMS, settings)
        for name in settings.required:
            if name not in _KNOWN:
                raise unknown_setting(build, name, _KNOWN)
        known = {name: v for name, v in settings.optional.items() if name in _KNOWN}
        skipped = tuple(sorted(settings.optional.keys() - known.keys()))
        values = {**known, **settings.required}
        told = (pragmas.complaint(name, value) for name, value in values.items())
        check_complaints(build, [complaint for complaint in told if complaint is not None])
        pragmas.ordered(values, _DBMS)
        return AcceptedSettings(values, skipped, settings.create)

    def create(self, site: Site, run: Run) -> None:
        """Do nothing: databases are made when they are written to."""

    def configuration(self, site: Site) -> str:
        """Return a line for each setting, to be read; the server has them in its command."""
        values = sorted(without_names(site.settings.values).items())
        return "".join(f"{name} = {value}\n" for name, value in values)

    def options(self, site: Site) -> list[str]:
        """Return the directory of the databases, with the settings as its query."""
        settings = pragmas.ordered(without_names(site.settings.values), _DBMS)
        set_each = "&".join(f"_pragma={quote(f'{name}({value})')}" for name, value in settings)
        return [
            "--handler=sqlite",
            f"--sqlite-url=file:{site.data_dir}/{set_each and f'?{set_each}'}",
        ]

    def command(self, site: Site, ferretdb: Sequence[str]) -> list[str]:
        """Return FerretDB's command."""
        del site
        return [*ferretdb]

    def programs(self, site: Site) -> Sequence[Path]:
        """Return none."""
        del site
        return ()
