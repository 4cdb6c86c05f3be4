"""The URL of a running server: `postgres://USER@HOST:PORT/DATABASE?sslmode=verify-full`."""

from __future__ import annotations

import getpass
import ipaddress
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
        word = next(word for word, each in self.words.tls_words.items() if each is verify)
        return f"{address}?{self.words.tls_option}={word}"

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
        port = parts.port
    except ValueError as error:
        raise UsageError(f"'{_without_password(written)}' is not a URL: {error}") from None
    if parts.password is not None:
        raise UsageError(_refused_password(written, parts))
    dbms, words = _family_of(parts)
    options = _options(parts, words)
    socket = options.pop(words.socket_option, None)
    host = parts.hostname
    if (host is None) == (socket is None):
        raise UsageError(
            f"'{written}': name either a host or a Unix socket (?{words.socket_option}=PATH)"
        )
    return ServerUrl(
        dbms=dbms,
        words=words,
        user=unquote(parts.username or getpass.getuser()),
        host=host,
        socket=socket,
        port=port or words.port,
        database=unquote(parts.path.strip("/")) or None,
        tls=_tls(written, words, host, options),
    )


def _family_of(parts: SplitResult) -> tuple[str, ByUrl]:
    by_scheme = {
        scheme: (family.name, family.by_url)
        for family in known_families()
        if family.by_url is not None
        for scheme in family.by_url.schemes
    }
    if parts.scheme not in by_scheme:
        raise UsageError(
            f"no server can be reached by a URL with '{parts.scheme}://': write one of "
            f"{listing([f'{scheme}://' for scheme in by_scheme])}"
            f"{guess(parts.scheme, by_scheme)}"
        )
    return by_scheme[parts.scheme]


def _options(parts: SplitResult, words: ByUrl) -> dict[str, str]:
    known = (words.socket_option, words.tls_option, *words.file_options)
    options: dict[str, str] = {}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name not in known:
            raise UsageError(
                f"'{parts.geturl()}' has the unknown option {name!r}: choose "
                f"{listing(list(known))}{guess(name, known)}"
            )
        options[name] = value
    return options


def _tls(written: str, words: ByUrl, host: str | None, options: dict[str, str]) -> Tls | None:
    """Return how a connection is encrypted: beyond this machine as strictly as can be."""
    word = options.get(words.tls_option)
    files = [options.get(name) for name in words.file_options]
    for file in filter(None, files):
        if not Path(file).expanduser().is_file():
            raise UsageError(f"'{written}': there is no file {file}")
    verify = _verify(written, words, host, word)
    if verify is None:
        if any(files):
            raise UsageError(f"'{written}' names certificates, but no {words.tls_option}")
        return None
    authorities, certificate, key = (
        str(Path(file).expanduser().absolute()) if file else None for file in files
    )
    return Tls(verify=verify, authorities=authorities, certificate=certificate, key=key)


def _verify(written: str, words: ByUrl, host: str | None, word: str | None) -> Verify | None:
    if word is None:
        return default_verify(host)
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
        f"{listing(list(words.tls_words))}{guess(word, words.tls_words)}"
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


def _refused_password(written: str, parts: SplitResult) -> str:
    _, words = _family_of(parts)
    return (
        f"'{_without_password(written)}': a password in a URL is seen in process lists; set "
        f"{words.password_variable}, use the password file of {parts.scheme}, or wait to be asked"
    )


def _without_password(written: str) -> str:
    scheme, _, rest = written.partition("://")
    credentials, at, place = rest.rpartition("@")
    return f"{scheme}://{credentials.partition(':')[0]}{at}{place}"
