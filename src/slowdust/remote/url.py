"""The URL of a running server: `postgres://USER@HOST:PORT/DATABASE?sslmode=verify-full`."""

from __future__ import annotations

import getpass
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from slowdust.dbms import known_families
from slowdust.dbms.access import Tls, Verify
from slowdust.dbms.by_url import ByUrl
from slowdust.errors import UsageError
from slowdust.wording import guess, listing

_NO_CHOICE = {
    "allow": "require",
    "prefer": "require",
    "preferred": "REQUIRED",
}
"""Words that leave the encryption to chance -> the word for what they may mean."""


@dataclass(frozen=True)
class ServerUrl:
    """The address of a running server, as a URL has it; it never has a password."""

    dbms: str
    words: ByUrl
    user: str
    host: str | None
    """None where the server is reached by a Unix socket."""
    socket: str | None
    port: int
    database: str | None
    """None where the URL names none."""
    tls: Tls | None
    auth_source: str | None = None
    """The database that has the user, where users are of databases."""

    @property
    def text(self) -> str:
        """The address for names and messages: 'postgres://ann@db:5433/shop?sslmode=require'.

        It says how the connection is encrypted where that is not as strict, or as lax, as it is
        without a word.
        """
        port = "" if self.port == self.words.port else f":{self.port}"
        host = f"[{self.host}]" if self.host and ":" in self.host else self.host
        place = self.socket if host is None else f"{host}{port}"
        address = f"{self.dbms}://{self.user}@{place}/{self.database or ''}".rstrip("/")
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
        UsageError: it has a password, an unknown scheme or option, or none of a host and a socket.
    """
    try:
        parts = urlsplit(written)
        if "," in _place(parts):
            raise UsageError(f"'{_without_password(written)}' names several hosts: choose one")
        port = parts.port
    except ValueError as error:
        raise UsageError(f"'{_without_password(written)}' is not a URL: {error}") from None
    dbms, words = _family_of(parts)
    if parts.password is not None:
        raise UsageError(_refused_password(written, words))
    options = _options(parts, words)
    host, socket = _end(written, parts, words, options)
    database = unquote(parts.path.strip("/")) or None
    if database is not None and (wrong := sorted({*database} & {*words.not_in_names})):
        raise UsageError(
            f"'{_without_password(written)}' names the database {database!r}, whose name cannot "
            f"have {wrong[0]!r}"
        )
    return ServerUrl(
        dbms=dbms,
        words=words,
        user=unquote(parts.username or getpass.getuser()),
        host=host,
        socket=socket,
        port=port or words.port,
        database=database,
        tls=_tls(written, words, host, options),
        auth_source=_auth_source(words, database, options),
    )


def _place(parts: SplitResult) -> str:
    """Return what a URL has between its user and its database, as it is written."""
    return parts.netloc.rpartition("@")[2]


def _end(
    written: str, parts: SplitResult, words: ByUrl, options: Mapping[str, str]
) -> tuple[str | None, str | None]:
    """Return the host, or the path of the Unix socket."""
    host = parts.hostname
    if words.socket_option is None:
        path = unquote(_place(parts))
        host, socket = (None, path) if path.startswith("/") else (host, None)
        how = "with %2F for each /"
    else:
        socket = options.get(words.socket_option)
        how = f"?{words.socket_option}=PATH"
    if (host is None) == (socket is None):
        raise UsageError(f"'{written}': name either a host or a Unix socket ({how})")
    return host, socket


def _auth_source(words: ByUrl, database: str | None, options: Mapping[str, str]) -> str | None:
    """Return the database that has the user: by default the URL's, as MongoDB has it."""
    if words.auth_source_option is None:
        return None
    return options.get(words.auth_source_option) or database or words.database


def _family_of(parts: SplitResult) -> tuple[str, ByUrl]:
    by_scheme = {
        scheme: (family.name, family.by_url)
        for family in known_families()
        if family.by_url is not None
        for scheme in family.by_url.schemes
    }
    for _, words in by_scheme.values():
        if parts.scheme in words.several_hosts_schemes:
            raise UsageError(
                f"'{parts.scheme}://' stands for all hosts of a cluster: write "
                f"{words.schemes[0]}:// and the host and port of one"
            )
    if parts.scheme not in by_scheme:
        raise UsageError(
            f"no server can be reached by a URL with '{parts.scheme}://': write one of "
            f"{listing([f'{scheme}://' for scheme in by_scheme], 'or')}"
            f"{guess(parts.scheme, by_scheme)}"
        )
    return by_scheme[parts.scheme]


def _options(parts: SplitResult, words: ByUrl) -> dict[str, str]:
    single = (words.socket_option, words.tls_option, words.auth_source_option)
    several = (*words.laxer_options, *words.file_options, *words.fixed_options)
    known = [*dict.fromkeys(filter(None, (*single, *several)))]
    options: dict[str, str] = {}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name not in known:
            raise UsageError(
                f"'{parts.geturl()}' has the unknown option {name!r}: choose "
                f"{listing(known, 'or')}{guess(name, known)}"
            )
        only = words.fixed_options.get(name, value)
        if value != only:
            raise UsageError(f"'{parts.geturl()}': {name} can only be {only}")
        options[name] = value
    return options


def _tls(written: str, words: ByUrl, host: str | None, options: Mapping[str, str]) -> Tls | None:
    """Return how a connection is encrypted: beyond this machine as strictly as can be."""
    files = [options.get(name) for name in words.file_options]
    for file in filter(None, files):
        if not Path(file).expanduser().is_file():
            raise UsageError(f"'{written}': there is no file {file}")
    verify = _verify(written, words, host, options)
    if verify is None:
        if any(files):
            raise UsageError(f"'{written}' names certificates, but no {words.tls_option}")
        return None
    authorities, certificate, key = (
        str(Path(file).expanduser().absolute()) if file else None for file in files
    )
    return Tls(verify=verify, authorities=authorities, certificate=certificate, key=key)


def _verify(
    written: str, words: ByUrl, host: str | None, options: Mapping[str, str]
) -> Verify | None:
    word = options.get(words.tls_option)
    strictest = default_verify(host) if word is None else _worded(written, words, host, word)
    most = [
        verify
        for option, verify in words.laxer_options.items()
        if _is_true(written, option, options.get(option, "false"))
    ]
    if not most:
        return strictest
    if strictest is None:
        raise UsageError(f"'{written}' says what is not verified, but no {words.tls_option}")
    return min(strictest, *most, key=list(Verify).index)


def _is_true(written: str, option: str, word: str) -> bool:
    if word not in ("true", "false"):
        raise UsageError(f"'{written}': {option} cannot be {word!r}: choose true or false")
    return word == "true"


def _worded(written: str, words: ByUrl, host: str | None, word: str) -> Verify | None:
    known = {name.lower(): verify for name, verify in words.tls_words.items()}
    if word.lower() in known:
        verify = known[word.lower()]
        if verify is not None and host is None:
            raise UsageError(f"'{written}': a Unix socket is not encrypted")
        return verify
    if word.lower() in _NO_CHOICE:
        raise UsageError(
            f"'{written}': {words.tls_option}={word} leaves to chance whether the connection is "
            f"encrypted; write {_NO_CHOICE[word.lower()]}, or a word that verifies the server"
        )
    raise UsageError(
        f"'{written}': {words.tls_option} cannot be {word!r}: choose "
        f"{listing(list(words.tls_words), 'or')}{guess(word, words.tls_words)}"
    )


def default_verify(host: str | None) -> Verify | None:
    """Return how a connection is verified without a word; None where nothing is encrypted."""
    return None if host is None or _is_loopback(host) else Verify.IDENTITY


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _refused_password(written: str, words: ByUrl) -> str:
    file = f", use {words.password_file}," if words.password_file else ""
    return (
        f"'{_without_password(written)}': a password in a URL is seen in process lists; set "
        f"{words.password_variable}{file} or wait to be asked"
    )


def _without_password(written: str) -> str:
    scheme, _, rest = written.partition("://")
    credentials, at, place = rest.rpartition("@")
    return f"{scheme}://{credentials.partition(':')[0]}{at}{place}"
