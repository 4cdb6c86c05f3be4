"""Questions to the server of a build about its settings, without starting it as a server."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping, Sequence

from slowdust.accounts import Account
from slowdust.builds.model import Build
from slowdust.dbms.settings import Settings
from slowdust.errors import SlowdustError, UsageError
from slowdust.wording import nearest


class UnknownSettingError(UsageError):
    """A setting that the server of a build does not know."""

    def __init__(self, text: str, setting: str) -> None:
        super().__init__(text)
        self.setting = setting


def query_server(
    build: Build,
    account: Account,
    arguments: Sequence[str],
    text: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run the server with arguments that make it print something and end."""
    try:
        command = [*build.command(build.server), *arguments]
        return account.run(command, text=text, environment=environment)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SlowdustError(f"cannot read the settings of {build.server}: {error}") from error


def check_complaints(build: Build, complaints: Sequence[str]) -> None:
    """Raise UsageError for the server's complaints about values, if there are any."""
    if complaints:
        reasons = "; ".join(complaints)
        raise UsageError(f"{build.dbms} {build.facts.version} refuses the settings: {reasons}")


def check_nothing_created(dbms: str, settings: Settings) -> None:
    """Raise UsageError for an entry of `[create]` of a DBMS that has nothing to choose there."""
    for name in settings.create:
        raise UsageError(f"[create] of {dbms} has nothing to choose: leave out {name!r}")


def unknown_setting(build: Build, name: str, known: Iterable[str]) -> UnknownSettingError:
    """Return the error for a setting that the server does not know."""
    close = nearest(name, known)
    hint = f"did you mean {close}?" if close else "leave it out or put it under [optional]"
    text = f"{build.dbms} {build.facts.version} has no setting {name!r}: {hint}"
    return UnknownSettingError(text, name)
