"""Addresses such as `https://ann@host:8443/path`: their parts, and how they are shown.

An address is taken apart here alone, so that the part that is hidden in messages is the part that
counts as user and password. If it is not certain where a password ends, the address is refused, and
only its scheme is shown.
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
"""The beginning of an address; one that was taken for a path has lost a '/'."""
_HOST = re.compile(r"[\w.-]*|\[[0-9A-Fa-f:.]*\]", re.ASCII)
_PLACE = re.compile(rf"(?:{_HOST.pattern})(?::(?:\d*|{re.escape(HIDDEN)}))?", re.ASCII)
"""A host, with its port if it has one, or a user with a password that is hidden already."""
_NOT_IN_ADDRESSES = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029\ud800-\udfff]")
_SECRET_NAME = re.compile(r"pass|pwd|secret|token|signature|credential|api.?key|^sig$|^key$", re.I)
_OPTION = re.compile(r"(?<=[?&;#])(?P<name>[^=&;#\s]*)=")
_IN_TEXT = re.compile(rf"{_BEGINNING.pattern}\S*")
_AFTER_ADDRESSES = ".,:;'\")"
"""Characters that end a sentence or a quotation, not the address in it."""


class AddressError(ValueError):
    """A text that is not an address; the message has nothing of its secrets."""


class AmbiguousError(AddressError):
    """An address with an '@' that may be a part of a password."""


@dataclass(frozen=True)
class Address:
    """The parts of an address; user and password are decoded, the others are as written."""

    scheme: str
    user: str | None
    password: Secret | None
    place: str
    """What follows the user: hosts with their ports, or an encoded path."""
    rest: str

    def host_and_port(self) -> tuple[str | None, int | None]:
        """Return the host in small letters, and the port; None for what there is not.

        Raises AddressError if there are others than these two.
        """
        try:
            parts = urlsplit(f"//{self.place}")
            host, port = parts.hostname, parts.port
        except ValueError:  # its text has the place, which may be a part of a password
            raise AddressError("after the user it has to have HOST or HOST:PORT") from None
        return host, port


def parse_address(written: str) -> Address:
    """Take an address apart.

    Raises AddressError if it has no scheme, characters that an address cannot have, or a user that
    is not UTF-8 and AmbiguousError if an '@' follows '/', '?' or '#', and what precedes it may be a
    password.
    """
    scheme, separator, after = written.partition("://")
    if not separator or not _SCHEME.fullmatch(scheme):
        raise AddressError("it does not begin with a scheme such as https://")
    if _NOT_IN_ADDRESSES.search(after):
        raise AddressError(
            "a blank, a control character or a byte that is not UTF-8 has to be percent-encoded, "
            "such as %20"
        )
    authority, rest = _parts(after)
    if _is_ambiguous(authority, rest):
        raise AmbiguousError(
            "it has an '@' after '/', '?' or '#': write %40 if it is part of a path or a value, "
            "and %2F, %3F or %23 for '/', '?' or '#' in the user or password"
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
    """Decode the percent signs of a part.

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
    """Return whether an option of an address has the name of a secret, such as `password=`."""
    return any(_SECRET_NAME.search(unquote(found["name"])) for found in _OPTION.finditer(written))


def shown(address: str) -> str:
    """Return an address for messages and files, without what may be a secret.

    `postgres://ann:pencil@db/x` becomes `postgres://ann:***`. The user of a web address is hidden,
    too, since it may be a token. Addresses without secrets are not changed.
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
    if colon:  # what follows the '@' may be a part of the password, if the host is missing
        return f"{scheme}://{user}:{HIDDEN}"
    if has_secret_option(rest):  # whose value may have a raw '&', too
        return f"{re.split('[?&;#]', address, maxsplit=1)[0]}?{HIDDEN}"
    return address


def without_secrets(text: str) -> str:
    return _IN_TEXT.sub(_shown_in_text, text)


def without_secrets_of(text: str, words: Sequence[str]) -> str:
    """Return a text without the secrets of addresses in it, some of which are known as a whole.

    `words` are the arguments of a command: addresses in them may have blanks, which would end an
    address in a text. The text may have them quoted, or as paths.
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
    """Return what an address has up to its path, and the rest."""
    end = re.search(r"[/?#]", after)
    return (after, "") if end is None else (after[: end.start()], after[end.start() :])


def _is_ambiguous(authority: str, rest: str) -> bool:
    return "@" in rest and (":" in authority or "@" in authority)


def _are_places(text: str) -> bool:
    return all(_PLACE.fullmatch(place) for place in text.split(","))
