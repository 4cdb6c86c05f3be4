"""The file of a watch: an experiment file whose contenders are named by its table `[watch]`."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    InstanceOf,
    ValidationError,
    model_validator,
)

from slowdust.addresses import AddressError
from slowdust.benchmarks.options import Table
from slowdust.builds.catalog import catalog_of, version_parts
from slowdust.builds.revisions import check_repository
from slowdust.errors import UsageError
from slowdust.experiment.setup import refuse_by_name
from slowdust.experiment.spec.contenders import parse_contender
from slowdust.experiment.spec.spec import Spec, parse_spec, read_spec_data
from slowdust.located_errors import AtKeysError, File, Keys, at, explain, placed
from slowdust.store.folder import NAME
from slowdust.studies.candidates import parse_range
from slowdust.studies.watch.webhook import Webhook, parse_webhook
from slowdust.user_text import environment_text

_TABLE = "watch"
_NAMED_BY_THE_WATCH = ("name", "contenders", "matrix", "only", "repo", "keep")
"""Keys of an experiment file that say what a watch says otherwise, or finds out."""
_VARIABLE = re.compile(r"\$(?P<name>[A-Za-z_][A-Za-z0-9_]*)")


def _command(text: str) -> str:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"it is no command: {error}") from None  # it may have a secret
    if not words:
        raise ValueError("the command is empty")
    return text


def _webhook(written: object) -> Webhook:
    """Read an address, or that in a variable; messages have neither, since it may be a secret."""
    if not isinstance(written, str):
        raise ValueError('it is not text in quotes, such as "https://..."')  # noqa: TRY004 - pydantic's
    variable = _VARIABLE.fullmatch(written)
    text = environment_text(variable["name"]) if variable else written
    if text is None:
        raise ValueError(f"the environment variable {written[1:]} is not set")
    try:
        return parse_webhook(text)
    except AddressError as error:
        named = f"the value of {written}" if variable else "this"
        raise ValueError(
            f"{named} is no address: {error}; write https://..., or $NAME for a variable"
        ) from None


Command = Annotated[str, AfterValidator(_command)]
Address = Annotated[InstanceOf[Webhook], BeforeValidator(_webhook)]


class WatchTable(Table):
    """The table `[watch]`."""

    name: str = Field(pattern=f"^{NAME}$")
    releases: str | None = None
    repo: str | None = None
    dbms: str | None = None
    ref: str | None = None
    base: str | None = None
    each: bool = False
    host: str | None = Field(None, min_length=1)
    on_regression: Command | None = None
    on_recovery: Command | None = None
    webhook: Address | None = None
    webhook_insecure: bool = False
    """Whether the webhook may be plain http to another machine."""

    @model_validator(mode="after")
    def _safe_addresses(self) -> WatchTable:
        with at("repo"):
            check_repository(self.repo or "")
        if self.webhook is not None and self.webhook.is_readable_by_others:
            if not self.webhook_insecure:
                raise AtKeysError(
                    "the address is plain http to another machine: everybody on the way can read "
                    "the address and what is posted; write https://..., or webhook_insecure = "
                    "true if that is wanted",
                    ("webhook",),
                )
        elif self.webhook_insecure:
            raise AtKeysError(
                "no webhook is plain http to another machine: leave this key out",
                ("webhook_insecure",),
            )
        return self

    @model_validator(mode="after")
    def _one_subject(self) -> WatchTable:
        of_commits = {"repo": self.repo, "dbms": self.dbms, "ref": self.ref, "base": self.base}
        if self.releases is not None:
            if given := [key for key in ("repo", "dbms", "ref") if of_commits[key] is not None]:
                raise AtKeysError("releases are watched, or a repository: choose one", (given[0],))
            _check_range(self.releases, "releases")
        elif lacking := [key for key, value in of_commits.items() if value is None]:
            if len(lacking) == len(of_commits):
                raise ValueError(
                    'nothing is watched: write releases = "postgres@15..18", or repo, dbms, ref '
                    "and base"
                )
            raise ValueError(f"{lacking[0]} is missing: a repository needs repo, dbms, ref, base")
        else:
            _check_range(self.dbms or "", "dbms")
        if self.base is not None:
            _check_base(self.base)
        return self


def _check_range(text: str, key: str) -> None:
    try:
        match = parse_range(text)
    except UsageError as error:
        raise AtKeysError(str(error), (key,)) from None
    if (match["first"] is None) == (key == "releases"):
        wanted = "DBMS@FIRST..LAST" if key == "releases" else "DBMS[/ENGINE][:CONFIG][+ENV...]"
        raise AtKeysError(f"'{text}': write {wanted}", (key,))


def _check_base(text: str) -> None:
    try:
        name = parse_contender(text)
        if name.dbms is not None and version_parts(name.version or ""):
            catalog_of(name.dbms).find(name.version or "")
    except UsageError as error:
        raise AtKeysError(str(error), ("base",)) from None
    if name.url is not None:
        raise AtKeysError(f"'{text}' runs already: a watch starts its base each night", ("base",))


@dataclass(frozen=True)
class Watch:
    """A watch as its file has it."""

    table: WatchTable
    data: dict[str, object]
    """The rest of the file: an experiment without contenders."""
    origin: File
    folder: Path
    """The folder of the file, in which hooks run."""

    def spec(self, name: str, contenders: list[str]) -> Spec:
        """Return the experiment that measures these contenders side by side.

        Raises:
            UsageError: a key is wrong, with its place in the file.
        """
        data = {**self.data, "name": name, "contenders": contenders}
        if self.table.repo is not None:
            data["repo"] = self.table.repo
        origin = _Origin(self.origin, self.table)
        spec = parse_spec(data, origin)
        with placed(origin):
            refuse_by_name(spec)
        return spec


class _Origin:
    """The file of a watch, in which other keys name the contenders."""

    def __init__(self, file: File, table: WatchTable) -> None:
        self._file = file
        self._subject = "releases" if table.releases is not None else "dbms"
        self._base = "base" if table.base is not None else self._subject

    def name(self, keys: Keys) -> str:
        """Return the place of the key that a contender is made of."""
        if keys[:1] == ("contenders",):
            keys = (_TABLE, self._base if keys[1:2] == (0,) else self._subject)
        elif keys[:1] == ("repo",):
            keys = (_TABLE, "repo")
        return self._file.name(keys)


def read_watch(path: Path) -> Watch:
    """Read the file of a watch; its name defaults to the file's.

    Raises:
        UsageError: no such file, not TOML, or wrong keys, with their lines.
    """
    data, origin = read_spec_data(path)
    for key in _NAMED_BY_THE_WATCH:
        if key in data:
            raise UsageError(
                f"{origin.name((key,))}: a watch chooses its contenders by its table [watch]: "
                "leave this key out"
            )
    given = data.pop(_TABLE, None)
    if not isinstance(given, dict):
        raise UsageError(f"{path}: {_TABLE}: the table is missing: write [watch]")
    table = {"name": path.stem, **given}
    try:
        read = WatchTable.model_validate(table)
    except ValidationError as error:
        explain(error, WatchTable, table, _InTable(origin))
    folder = path.absolute().parent
    if read.repo is not None and (folder / read.repo).is_dir():  # as `workload` is
        read = read.model_copy(update={"repo": str(folder / read.repo)})
    return Watch(read, data, origin, folder)


class _InTable:
    """The table of a file: the keys of its errors are within it."""

    def __init__(self, file: File) -> None:
        self._file = file

    def name(self, keys: Keys) -> str:
        """Return the place of a key of the table."""
        return self._file.name((_TABLE, *keys))
