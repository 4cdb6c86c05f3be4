"""The file of a watch: an experiment file whose table `[watch]` chooses the contenders."""

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

from slowdust import addresses
from slowdust.addresses import AddressError, is_loopback, parse_address
from slowdust.benchmarks.options import Table
from slowdust.builds.catalog import find_catalog, version_parts
from slowdust.builds.revisions import check_repository
from slowdust.errors import UsageError
from slowdust.experiment.setup import refuse_by_name
from slowdust.experiment.spec.contenders import parse_contender
from slowdust.experiment.spec.spec import Spec, parse_spec, read_spec_data
from slowdust.located_errors import AtKeysError, Keys, Origin, at, explain, placed
from slowdust.secret import Secret
from slowdust.store.folder import NAME
from slowdust.studies.candidates import parse_range
from slowdust.units import Second
from slowdust.user_text import environment_text

_POST_TIME: Second = 20.0


class PostError(Exception):
    """An address cannot be reached, or rejects the request; the message omits the address."""


@dataclass(frozen=True)
class Webhook:
    """An address to post to. All of it is a secret: a path may be as secret as a user."""

    url: Secret
    """The address without user and password."""
    credentials: Secret | None
    """`user:password`, sent by basic authentication."""
    is_readable_by_others: bool
    """Whether it is plain http to another host."""

    def post(self, content: bytes) -> None:
        """Post JSON.

        Raises:
            PostError: the address cannot be reached, or rejects the request.
        """
        import urllib3

        timeout = urllib3.Timeout(total=_POST_TIME)
        headers = {"Content-Type": "application/json", "User-Agent": "slowdust"}
        if self.credentials is not None:
            own = self.credentials.reveal().encode().decode("latin-1")  # the header is UTF-8
            headers |= urllib3.make_headers(basic_auth=own)
        try:
            with urllib3.PoolManager(timeout=timeout, retries=False) as pool:
                # Only the status counts: the body of the answer may never end.
                answer = pool.request(
                    "POST", self.url.reveal(), body=content, headers=headers, preload_content=False
                )
                answer.close()
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise PostError(type(error).__name__) from None
        if not 200 <= answer.status < 300:
            raise PostError(f"the answer was {answer.status}")


def parse_webhook(written: str) -> Webhook:
    """Read the address of a webhook.

    Raises:
        AddressError: it is malformed. The message omits the address.
    """
    address = parse_address(written)
    if address.scheme not in ("http", "https"):
        raise AddressError("it does not begin with https:// or http://")
    host, _ = address.host_and_port()
    if not host:
        raise AddressError("it has no host")
    return Webhook(
        url=Secret(f"{address.scheme}://{address.place}{address.rest}"),
        credentials=_credentials(address),
        is_readable_by_others=address.scheme == "http" and not is_loopback(host),
    )


def _credentials(address: addresses.Address) -> Secret | None:
    if address.user is None:
        return None
    if ":" in address.user:
        raise AddressError("the user contains ':' (RFC 7617 forbids it)")
    password = "" if address.password is None else address.password.reveal()
    return Secret(f"{address.user}:{password}")


_TABLE = "watch"
_NAMED_BY_THE_WATCH = ("name", "contenders", "matrix", "only", "repo", "keep")
"""Keys of an experiment file that a watch sets by itself."""
_VARIABLE = re.compile(r"\$(?P<name>[A-Za-z_][A-Za-z0-9_]*)")


def _command(text: str) -> str:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"the command is malformed: {error}") from None  # it may have a secret
    if not words:
        raise ValueError("the command is empty")
    return text


def _webhook(written: object) -> Webhook:
    """Read an address, or the one in a variable; messages omit both, because it may be a secret."""
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
            f"{named} is not an address: {error}; write https://..., or $NAME for a variable"
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
                    "the address is plain http to another machine, so that others on the network "
                    "can read the address and the messages; write https://..., or allow it with "
                    "webhook_insecure = true",
                    ("webhook",),
                )
        elif self.webhook_insecure:
            raise AtKeysError(
                "no webhook uses plain http to another machine: remove this key",
                ("webhook_insecure",),
            )
        return self

    @model_validator(mode="after")
    def _one_subject(self) -> WatchTable:
        of_commits = {"repo": self.repo, "dbms": self.dbms, "ref": self.ref, "base": self.base}
        if self.releases is not None:
            if given := [key for key in ("repo", "dbms", "ref") if of_commits[key] is not None]:
                raise AtKeysError(
                    "releases and a repository exclude each other: choose one", (given[0],)
                )
            _check_range(self.releases, "releases")
        elif lacking := [key for key, value in of_commits.items() if value is None]:
            if len(lacking) == len(of_commits):
                raise ValueError(
                    'nothing to watch: write releases = "postgres@15..18", or repo, dbms, ref and '
                    "base"
                )
            raise ValueError(
                f"{lacking[0]} is missing: a repository needs repo, dbms, ref and base"
            )
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
            find_catalog(name.dbms).find(name.version or "")
    except UsageError as error:
        raise AtKeysError(str(error), ("base",)) from None
    if name.url is not None:
        raise AtKeysError(
            f"'{text}' is a running server: a watch starts its base each night", ("base",)
        )


@dataclass(frozen=True)
class Watch:
    """A watch as its file describes it."""

    table: WatchTable
    data: dict[str, object]
    """The rest of the file: an experiment without contenders."""
    origin: Origin
    folder: Path
    """The folder of the file; hooks run in it."""

    def spec(self, name: str, contenders: list[str]) -> Spec:
        """Return the experiment that measures these contenders side by side.

        Raises:
            UsageError: a key is wrong; the message has its place in the file.
        """
        data = {**self.data, "name": name, "contenders": contenders}
        if self.table.repo is not None:
            data["repo"] = self.table.repo
        spec = parse_spec(data, self._place)
        with placed(self._place):
            refuse_by_name(spec)
        return spec

    def _place(self, keys: Keys) -> str:
        """Return the place of a key in the file. Keys of [watch] stand for the contenders."""
        subject = "releases" if self.table.releases is not None else "dbms"
        base = "base" if self.table.base is not None else subject
        if keys[:1] == ("contenders",):
            keys = (_TABLE, base if keys[1:2] == (0,) else subject)
        elif keys[:1] == ("repo",):
            keys = (_TABLE, "repo")
        return self.origin(keys)


def read_watch(path: Path) -> Watch:
    """Read the file of a watch; its name defaults to the file's.

    Raises:
        UsageError: no such file, not TOML, or wrong keys; the message has their lines.
    """
    data, origin = read_spec_data(path)
    for key in _NAMED_BY_THE_WATCH:
        if key in data:
            raise UsageError(
                f"{origin((key,))}: the table [watch] sets this for a watch: remove this key"
            )
    given = data.pop(_TABLE, None)
    if not isinstance(given, dict):
        raise UsageError(f"{path}: {_TABLE}: the table [watch] is missing")
    table = {"name": path.stem, **given}
    try:
        read = WatchTable.model_validate(table)
    except ValidationError as error:
        explain(error, WatchTable, table, lambda keys: origin((_TABLE, *keys)))
    folder = path.absolute().parent
    if read.repo is not None and (folder / read.repo).is_dir():  # as `workload` is
        read = read.model_copy(update={"repo": str(folder / read.repo)})
    return Watch(read, data, origin, folder)
