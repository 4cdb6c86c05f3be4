"""Which settings a server takes, as it says itself."""

from __future__ import annotations

import difflib
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from slowdust.accounts import Account
from slowdust.builds.model import Build
from slowdust.dbms.mysqld.options import as_arguments, option_file, place_options
from slowdust.dbms.mysqld.own import OWN_SETTINGS
from slowdust.dbms.settings import AcceptedSettings, Settings, setting_name
from slowdust.errors import SlowdustError, UsageError

_TABLE_OF_VARIABLES = re.compile(r"^-+ -+$", re.MULTILINE)
_OPTION = re.compile(r"^ +(?:-\S, )?--([a-z][\w-]*)", re.MULTILINE)
_VARIABLE = re.compile(r"^([a-z][\w.-]*)(?=\s|$)", re.MULTILINE)
_BOOLEAN = re.compile(r"^([a-z][\w.-]*) +(?:TRUE|FALSE)$", re.MULTILINE)
_WORDS = frozenset({"on", "off", "true", "false", "1", "0"})
_OF_A_VALUE = re.compile(
    r"\[ERROR\]|unknown (?:variable|option|suffix)|adjusted to|n.t recognized", re.IGNORECASE
)
_LOG_PREFIX = re.compile(
    r"^.*?\[(?:ERROR|Warning)\]\s*(?:\[[^]]*\]\s*)*(?:Buffered \w+: )?(?:/\S+: )?"
)
_SAYS_NOTHING = ("Aborting", "Failed to initialize", "Can't open the mysql.plugin")
HELP = ("--verbose", "--help")
"""Lists the settings; most servers check the values that they are given meanwhile."""


def accepted_settings(
    build: Build, account: Account, settings: Settings, validation: Sequence[str]
) -> AcceptedSettings:
    """What the server of this build takes of the settings.

    `validation` are the arguments with which it checks values without starting. Values are not
    checked where the server cannot even print its `HELP`: MariaDB 10.1.8.

    Raises UsageError for a setting it does not know or a value it refuses.
    """
    for name in sorted(OWN_SETTINGS & {*settings.required, *settings.optional}):
        raise UsageError(f"{name} cannot be set: Slowdust chooses it for each instance")
    for name in settings.create:
        raise UsageError(f"[create] of {build.dbms} has nothing, not {name!r}")
    with tempfile.TemporaryDirectory(
        prefix="slowdust-settings-", dir=account.temporary_root()
    ) as name:
        account.hand_over(Path(name))
        server = _Asked(build, account, Path(name))
        known = server.settings(settings.required.get("plugin_load_add"))
        for setting in sorted(settings.required.keys() - known):
            raise UsageError(_unknown_message(build, setting, known))
        skipped = settings.optional.keys() - known
        taken = {key: value for key, value in settings.optional.items() if key not in skipped}
        values = {**taken, **settings.required}
        complaints = server.complaints(values, validation)
    if complaints:
        said = "; ".join(complaints)
        raise UsageError(f"{build.dbms} {build.facts.version} refuses the settings: {said}")
    return AcceptedSettings(values, tuple(sorted(skipped)), settings.create)


class _Asked:
    """A server that is asked, and not started."""

    def __init__(self, build: Build, account: Account, directory: Path) -> None:
        self._build = build
        self._account = account
        self._directory = directory
        self._has_help = True
        self._booleans: frozenset[str] = frozenset()

    def settings(self, plugins: str | None) -> frozenset[str]:
        """The names that it knows, those of the plugins included.

        `--verbose --help` describes the options, and then lists those that have values: neither
        has all of them.
        """
        arguments = [] if plugins is None else [f"--plugin-load-add={plugins}"]
        said = self._ask("--no-defaults", *arguments, *HELP).stdout
        options, *tables = _TABLE_OF_VARIABLES.split(said, maxsplit=1)
        if not tables:
            self._has_help = False
            return self._variables()
        table = tables[0].partition("\n\n")[0]
        self._booleans = frozenset(map(setting_name, _BOOLEAN.findall(table)))
        return frozenset(map(setting_name, [*_OPTION.findall(options), *_VARIABLE.findall(table)]))

    def complaints(self, values: Mapping[str, str], validation: Sequence[str]) -> list[str]:
        """What it says of values; nothing when it takes them as they are."""
        if not self._has_help:
            return []  # what it refuses, it will say when its data directory is made
        if wrong := self._no_booleans(values):
            return wrong
        file = self._directory / "server.conf"
        file.write_text(option_file(self._build, values), encoding="utf-8")
        file.chmod(0o644)
        done = self._ask(f"--defaults-file={file}", *validation)
        said = [
            _LOG_PREFIX.sub("", line).strip()
            for line in done.stderr.splitlines()
            if _OF_A_VALUE.search(line) and not any(text in line for text in _SAYS_NOTHING)
        ]
        if done.returncode != 0:
            return said or [f"exit code {done.returncode}"]
        return [line for line in said if any(name in setting_name(line) for name in values)]

    def _no_booleans(self, values: Mapping[str, str]) -> list[str]:
        """Of these older servers make what they like, and say nothing."""
        return [
            f"{name} is on or off, not {values[name]!r}"
            for name in sorted(self._booleans & values.keys())
            if values[name].lower() not in _WORDS
        ]

    def _variables(self) -> frozenset[str]:
        """The names of its variables, from a server on no data: MariaDB 10.1.8 has no help.

        It crashes when its plugins describe their options.
        """
        names = self._directory / "variables"
        self._ask(
            "--no-defaults",
            "--innodb-log-file-size=1M",
            "--bootstrap",
            text="SELECT variable_name FROM information_schema.global_variables "
            f"INTO OUTFILE '{names}';\n",
        )
        if not names.exists():
            raise SlowdustError(f"{self._build.server} does not tell its settings")
        return frozenset(setting_name(name) for name in names.read_text("utf-8").split())

    def _ask(
        self, defaults: str, *arguments: str, text: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        places = place_options(self._build, self._directory) | {"datadir": str(self._directory)}
        program = self._build.command(self._build.server)
        try:
            return self._account.ask(
                [*program, defaults, *as_arguments(places), *arguments], text=text
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SlowdustError(
                f"{self._build.server} cannot be asked for its settings: {error}"
            ) from error


def _unknown_message(build: Build, name: str, known: frozenset[str]) -> str:
    close = difflib.get_close_matches(name, sorted(known), n=1)
    hint = f"did you mean {close[0]}?" if close else "leave it out or put it under [optional]"
    return f"{build.dbms} {build.facts.version} has no setting {name!r}: {hint}"
