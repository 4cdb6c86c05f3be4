"""The URL of a running server: `postgres://USER@HOST:PORT/DATABASE?sslmode=verify-full`."""

from __future__ import annotations

import getpass
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from slowdust.addresses import (
    AddressError,
    AmbiguousError,
    decoded,
    has_secret_option,
    is_loopback,
    parse_address,
    shown,
)
from slowdust.dbms import known_families
from slowdust.dbms.access import Tls, Verify
from slowdust.dbms.by_url import ByUrl
from slowdust.errors import UsageError
from slowdust.places import named_path
from slowdust.user_text import first_wrong_byte
from slowdust.wording import guess, listing

_SCHEME = re.compile(r"[a-z0-9+.-]+")
_NO_CHOICE = {
    "allow": "require",
    "prefer": "require",
    "preferred": "REQUIRED",
}
"""Words that make encryption optional -> the word that requires it."""


@dataclass(frozen=True)
class ServerUrl:
    """The address of a running server, from its URL. It never contains a password."""

    dbms: str
    words: ByUrl
    user: str
    host: str | None
    """None if the server is reached by a Unix socket."""
    socket: str | None
    port: int
    database: str | None
    """None if the URL names none."""
    tls: Tls | None
    auth_source: str | None = None
    """The database that holds the user, for servers with users per database."""

    @property
    def text(self) -> str:
        """The address for names and messages: 'postgres://ann@db:5433/shop?sslmode=require'.

        It includes the encryption if it differs from the default.
        """
        port = "" if self.port == self.words.port else f":{self.port}"
        host = f"[{self.host}]" if self.host and ":" in self.host else self.host
        place = self.socket if host is None else f"{host}{port}"
        user, database = quote(self.user, safe=""), quote(self.database or "", safe="")
        address = f"{self.dbms}://{user}@{place}/{database}".rstrip("/")
        verify = None if self.tls is None else self.tls.verify
        if verify is default_verify(self.host):
            return address
        return f"{address}?{self.words.tls_text(verify)}"

    @property
    def encryption(self) -> str:
        """Say how the connection is encrypted: 'TLS, the host is verified'."""
        if self.tls is None:
            return "not encrypted"
        verified = {
            Verify.NOTHING: "the server is not verified",
            Verify.AUTHORITY: "the authority is verified",
            Verify.IDENTITY: "the authority and the host are verified",
        }
        return f"TLS, {verified[self.tls.verify]}"


def is_url(written: str) -> bool:
    """Return whether a contender is written as the URL of a running server."""
    return "://" in written


def parse_url(written: str) -> ServerUrl:
    """Read the URL of a running server.

    Raises:
        UsageError: it has a password, an unknown scheme or option, or neither host nor socket.
            The message never contains the password.
    """
    dbms, words = _family_of(written.partition("://")[0].lower())
    try:
        address = parse_address(written)
        if "," in address.place:
            raise UsageError(f"'{shown(written)}' names several hosts: choose one")
        host, port = address.host_and_port()
        place = decoded(address.place, "the host")
        path, _, query = address.rest.partition("?")
        user, database = address.user or "", decoded(path.strip("/"), "the database")
    except AmbiguousError as error:
        raise UsageError(f"{_refused_password(written, words)}. Otherwise: {error}") from None
    except AddressError as error:
        raise UsageError(f"'{shown(written)}' is not a URL: {error}") from None
    if address.password is not None or ":" in user or has_secret_option(written):
        raise UsageError(_refused_password(written, words))
    label = written.partition("?")[0]
    if "@" in address.rest:
        raise UsageError(f"'{shown(label)}': write %40 for an '@' after the host")
    options = _options(label, query, words)
    host, socket = _end(label, place, host, words, options)
    if wrong := sorted({*database} & {*words.not_in_names}):
        raise UsageError(f"'{label}': the database name {database!r} cannot contain {wrong[0]!r}")
    if not user:
        user = getpass.getuser()
        if first_wrong_byte(user) is not None:
            raise UsageError(f"'{label}': your user name is not UTF-8: write USER@ before the host")
    auth_source = None
    if words.auth_source_option is not None:
        auth_source = options.get(words.auth_source_option) or database or words.database
    return ServerUrl(
        dbms=dbms,
        words=words,
        user=user,
        host=host,
        socket=socket,
        port=port or words.port,
        database=database or None,
        tls=_tls(label, words, host, options),
        auth_source=auth_source,
    )


def _end(
    label: str, place: str, host: str | None, words: ByUrl, options: Mapping[str, str]
) -> tuple[str | None, str | None]:
    """Return the host, or the path of the Unix socket."""
    if words.socket_option is None:
        host, socket = (None, place) if place.startswith("/") else (host, None)
        how = "with %2F for each /"
    else:
        socket = options.get(words.socket_option)
        how = f"?{words.socket_option}=PATH"
    if (host is None) == (socket is None):
        raise UsageError(f"'{label}': write either a host or a Unix socket ({how})")
    return host, socket


def _family_of(scheme: str) -> tuple[str, ByUrl]:
    by_scheme = {
        scheme: (family.name, family.by_url)
        for family in known_families()
        if family.by_url is not None
        for scheme in family.by_url.schemes
    }
    for _, words in by_scheme.values():
        if scheme in words.several_hosts_schemes:
            raise UsageError(
                f"'{scheme}://' names all hosts of a cluster: write {words.schemes[0]}:// with the "
                "host and port of one"
            )
    if scheme not in by_scheme:
        written = f" with '{scheme}://'" if _SCHEME.fullmatch(scheme) else ""
        raise UsageError(
            f"Slowdust reaches no server by a URL{written}: use "
            f"{listing([f'{scheme}://' for scheme in by_scheme], 'or')}"
            f"{guess(scheme, by_scheme)}"
        )
    return by_scheme[scheme]


def _options(label: str, query: str, words: ByUrl) -> dict[str, str]:
    single = (words.socket_option, words.tls_option, words.auth_source_option)
    several = (*words.laxer_options, *words.file_options, *words.fixed_options)
    known = [*dict.fromkeys(filter(None, (*single, *several)))]
    options: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        name, equals, text = part.partition("=")
        if not equals:  # it may be part of a password
            raise UsageError(f"'{label}' has an option without a value: write NAME=VALUE")
        if name not in known:
            raise UsageError(
                f"'{label}' has the unknown option {name!r}: choose "
                f"{listing(known, 'or')}{guess(name, known)}"
            )
        try:
            value = decoded(text, name)
        except AddressError as error:
            raise UsageError(f"'{label}': {error}") from None
        only = words.fixed_options.get(name, value)
        if value != only:
            raise UsageError(f"'{label}': {name} can only be {only}")
        options[name] = value
    return options


def _tls(label: str, words: ByUrl, host: str | None, options: Mapping[str, str]) -> Tls | None:
    """Return how a connection is encrypted; None if it is not. Raises UsageError."""
    files = [options.get(name) for name in words.file_options]
    for file in filter(None, files):
        if not named_path(file).is_file():
            raise UsageError(f"'{label}': there is no file {file}")
    verify = _verify(label, words, host, options)
    if verify is None:
        if any(files):
            raise UsageError(f"'{label}' has certificates but no {words.tls_option}")
        return None
    authorities, certificate, key = (
        str(named_path(file).absolute()) if file else None for file in files
    )
    return Tls(verify=verify, authorities=authorities, certificate=certificate, key=key)


def _verify(
    label: str, words: ByUrl, host: str | None, options: Mapping[str, str]
) -> Verify | None:
    word = options.get(words.tls_option)
    strictest = default_verify(host) if word is None else _worded(label, words, host, word)
    for option in words.laxer_options:
        if (word := options.get(option, "false")) not in ("true", "false"):
            raise UsageError(f"'{label}': {option} cannot be {word!r}: choose true or false")
    laxer = words.laxer_options.items()
    most = [verify for option, verify in laxer if options.get(option) == "true"]
    if not most:
        return strictest
    if strictest is None:
        raise UsageError(f"'{label}' limits verification but has no {words.tls_option}")
    return min(strictest, *most, key=list(Verify).index)


def _worded(label: str, words: ByUrl, host: str | None, word: str) -> Verify | None:
    known = {name.lower(): verify for name, verify in words.tls_words.items()}
    if word.lower() in known:
        verify = known[word.lower()]
        if verify is not None and host is None:
            raise UsageError(f"'{label}': a Unix socket cannot be encrypted")
        return verify
    if word.lower() in _NO_CHOICE:
        raise UsageError(
            f"'{label}': {words.tls_option}={word} makes encryption optional: write "
            f"{_NO_CHOICE[word.lower()]}, or a word that also verifies the server"
        )
    raise UsageError(
        f"'{label}': {words.tls_option} cannot be {word!r}: choose "
        f"{listing(list(words.tls_words), 'or')}{guess(word, words.tls_words)}"
    )


def default_verify(host: str | None) -> Verify | None:
    """Return the default: full verification of other hosts, None (no encryption) on this one."""
    return None if host is None or is_loopback(host) else Verify.IDENTITY


def _refused_password(written: str, words: ByUrl) -> str:
    file = f", use {words.password_file}," if words.password_file else ""
    return (
        f"'{shown(written)}': a password in a URL is visible in process lists; set "
        f"{words.password_variable}{file} or enter it when asked"
    )
