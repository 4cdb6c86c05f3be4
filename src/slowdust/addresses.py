"""Addresses such as `https://ann@host:8443/path`: parsing, and hiding their secrets.

Only this module parses addresses, so that messages hide exactly the part that is used as user and
password. If it is not certain where a password ends, the address is rejected, and messages show
only its scheme.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from urllib.parse import unquote, urlsplit

from slowdust.secret import HIDDEN, Secret

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_BEGINNING = re.compile(rf"(?P<scheme>{_SCHEME.pattern}):/+")
"""The beginning of an address; a path made of an address has lost a '/'."""
_HOST = re.compile(r"[\w.-]*|\[[0-9A-Fa-f:.]*\]", re.ASCII)
_PLACE = re.compile(rf"(?:{_HOST.pattern})(?::(?:\d*|{re.escape(HIDDEN)}))?", re.ASCII)
"""A host with an optional port, or a user with a hidden password."""
_NOT_IN_ADDRESSES = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029\ud800-\udfff]")
_SECRET_NAME = re.compile(r"pass|pwd|secret|token|signature|credential|api.?key|^sig$|^key$", re.I)
_OPTION = re.compile(r"(?<=[?&;#])(?P<name>[^=&;#\s]*)=")
_IN_TEXT = re.compile(rf"{_BEGINNING.pattern}\S*")
_AFTER_ADDRESSES = ".,:;'\")"
"""Characters that end a sentence or a quotation, not the address in it."""


class AddressError(ValueError):
    """A string is not an address; the message omits its secrets."""


class AmbiguousError(AddressError):
    """An address has an '@' that may be part of a password."""


@dataclass(frozen=True)
class Address:
    """The parts of an address; user and password are decoded, the other parts are not."""

    scheme: str
    user: str | None
    password: Secret | None
    place: str
    """The part after the user: hosts with their ports, or an encoded path."""
    rest: str

    def host_and_port(self) -> tuple[str | None, int | None]:
        """Return the host in lower case and the port; None for a missing one.

        Raises AddressError if the place has other parts.
        """
        try:
            parts = urlsplit(f"//{self.place}")
            host, port = parts.hostname, parts.port
        except ValueError:  # its message has the place, which may be part of a password
            raise AddressError("write HOST or HOST:PORT after the user") from None
        return host, port


def parse_address(written: str) -> Address:
    """Parse an address.

    Raises AddressError if it has no scheme, invalid characters, or a user that is not UTF-8;
    AmbiguousError if an '@' follows '/', '?' or '#', so that the text before it may be a password.
    """
    scheme, separator, after = written.partition("://")
    if not separator or not _SCHEME.fullmatch(scheme):
        raise AddressError("it does not begin with a scheme such as https://")
    if _NOT_IN_ADDRESSES.search(after):
        raise AddressError(
            "percent-encode blanks, control characters and bytes that are not UTF-8, such as %20 "
            "for a blank"
        )
    authority, rest = _parts(after)
    if _is_ambiguous(authority, rest):
        raise AmbiguousError(
            "it has an '@' after '/', '?' or '#': write %40 if it belongs to a path or a value, or "
            "write '/', '?' or '#' in the user or password as %2F, %3F or %23"
        )
    credentials, at, place = authority.rpartition("@")
    user, colon, password = credentials.partition(":")
    return Address(
        scheme=scheme.lower(),
        user=decoded(user, "the user") if at else None,
        password=Secret(decoded(password, "the password")) if colon else None,
        place=place,
        rest=rest,
    )


def decoded(text: str, what: str) -> str:
    """Decode a percent-encoded part.

    Raises AddressError if it is not UTF-8, or has control characters.
    """
    try:
        plain = unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise AddressError(f"{what} is not UTF-8") from None
    if any(ord(letter) < ord(" ") or letter == "\x7f" for letter in plain):
        raise AddressError(f"{what} has a control character")
    return plain


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def has_secret_option(written: str) -> bool:
    """Return whether an address has an option with the name of a secret, such as `password=`."""
    return any(_SECRET_NAME.search(unquote(found["name"])) for found in _OPTION.finditer(written))


def shown(address: str) -> str:
    """Return an address for messages and files, without possible secrets.

    `postgres://ann:pencil@db/x` becomes `postgres://ann:***`. The user of a web address is hidden
    too, because it may be a token. Addresses without secrets are not changed.
    """
    beginning = _BEGINNING.match(address)
    if beginning is None:
        return address
    scheme = beginning["scheme"]
    authority, rest = _parts(address[beginning.end() :])
    credentials, at, place = authority.rpartition("@")
    if _is_ambiguous(authority, rest) or (":" in unquote(place) and not _are_places(place)):
        return f"{scheme}://{HIDDEN}"
    if at and scheme.lower().startswith("http"):
        return f"{scheme}://{HIDDEN}"
    user, colon, _ = unquote(credentials).partition(":")
    if colon:  # if the host is missing, the part after the '@' may belong to the password
        return f"{scheme}://{user}:{HIDDEN}"
    if has_secret_option(rest):  # its value may contain a raw '&'
        return f"{re.split('[?&;#]', address, maxsplit=1)[0]}?{HIDDEN}"
    return address


def without_secrets(text: str) -> str:
    return _IN_TEXT.sub(_shown_in_text, text)


def hide_argument_secrets(text: str, words: Sequence[str]) -> str:
    """Return text without the secrets of its addresses.

    `words` are the arguments of a command. An address in them may have blanks, which would end an
    address in a text; the text may have it quoted, or as a path.
    """
    for word in words:
        if (found := _BEGINNING.search(word)) is not None:
            address = word[found.start() :]
            for form in (address, repr(address)[1:-1], str(PurePath(address))):
                text = text.replace(form, shown(address))
    return without_secrets(text)


def _shown_in_text(found: re.Match[str]) -> str:
    address = found[0].rstrip(_AFTER_ADDRESSES)
    return shown(address) + found[0][len(address) :]


def _parts(after: str) -> tuple[str, str]:
    """Return the part of an address before its path, and the rest."""
    end = re.search(r"[/?#]", after)
    return (after, "") if end is None else (after[: end.start()], after[end.start() :])


def _is_ambiguous(authority: str, rest: str) -> bool:
    return "@" in rest and (":" in authority or "@" in authority)


def _are_places(text: str) -> bool:
    return all(_PLACE.fullmatch(place) for place in text.split(","))
