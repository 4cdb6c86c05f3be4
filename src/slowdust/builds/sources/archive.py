"""Builds that are archives on a web server or in a directory, verified by their SHA-256.

An archive with another hash is refused. A user's own file needs no hash: it is computed and becomes
part of the build's provenance.
"""

from __future__ import annotations

import dataclasses
import re
import urllib.error
import urllib.request
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from typing import IO, cast

import msgspec

from slowdust.addresses import AddressError, parse_address, shown, without_secrets
from slowdust.builds.catalog import Origin
from slowdust.builds.fingerprint import hash_file
from slowdust.builds.model import Progress, Runtime, Unpacked
from slowdust.builds.sources.client import SourceUnavailable
from slowdust.errors import SlowdustError, UsageError
from slowdust.places import check_regular
from slowdust.unpacking import UnsafeArchive, inside, unpack
from slowdust.user_text import environment_text

KIND = "archive"
_TIMEOUT_S = 60.0
_MAX_CHECKSUMS_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}")
_ZSTD_BEGINNING = b"\x28\xb5\x2f\xfd"
_GIVE_CHECKSUM = (
    "run 'slowdust builds get {name} --sha256 HEX' with the one that you trust, or "
    "'slowdust builds get {name} --from FILE' with an archive that you have verified"
)


class Options(msgspec.Struct, forbid_unknown_fields=True):
    """The location of an archive, and its hash or the file with its hash."""

    base: str
    """A URL, or a directory of this machine."""
    path: str
    """The path in the base; '{version}' and '{series}' become '8.0.40' and '8.0'."""
    mirror: str | None = None
    """The environment variable for another base."""
    sha256: str | None = None
    checksums: str | None = None
    """The name of a file in the archive's directory, with lines 'SHA256  NAME'."""
    libraries: list[str] = []


class NoDowngrade(urllib.request.HTTPRedirectHandler):
    """A handler that follows redirects, except from https to an unencrypted protocol."""

    def redirect_request(  # noqa: PLR0917 - as in the base
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        new = super().redirect_request(req, fp, code, msg, headers, newurl)
        if new is not None and req.type == "https" != new.type:
            raise urllib.error.URLError(
                f"it redirects from https to {shown(newurl)}, which is not encrypted"
            )
        return new


def user_archive(location: str, version: str, sha256: str | None) -> Origin:
    """Return the origin of a user's archive, a URL or a file.

    Raises UsageError for a URL without a hash, a URL with a user, and a pipe, which may never end.
    """
    if _is_url(location):
        _check_no_user(location)
    else:
        check_regular(Path(location))
    if sha256 is None and _is_url(location):
        raise UsageError(
            f"{shown(location)} is a URL: add --sha256 HEX with the archive's SHA-256, or download "
            "it and give the file"
        )
    path = location if _is_url(location) else str(Path(location).absolute())
    base, _, name = path.replace("{", "{{").replace("}", "}}").rpartition("/")
    return Origin(KIND, {"base": base, "path": name, "sha256": sha256}, version)


def with_checksum(origin: Origin, sha256: str) -> Origin:
    """Return an origin of the catalog with the hash that the user trusts."""
    return dataclasses.replace(origin, options={**origin.options, "sha256": sha256})


def describe(origin: Origin) -> str:
    return f"{KIND} {shown(_location(origin))}"


def provide(origin: Origin, folder: Path, progress: Progress) -> Unpacked:
    options = origin.options_as(Options)
    location = _location(origin)
    expected = _expected(origin, location)
    name = shown(location).rpartition("/")[2]
    progress(f"fetching {describe(origin)}")
    archive = folder / "archive"
    _fetch(location, archive)
    digest = hash_file(archive)
    if expected is not None and digest != expected:
        raise SlowdustError(
            f"{name} has the SHA-256 {digest} instead of {expected}: it is damaged, was modified, "
            "or is another file"
        )
    progress(f"unpacking {name}")
    unpacked = folder / "unpacked"
    _unpack(archive, name, unpacked)
    binaries = _single_folder(unpacked)
    libraries = tuple(inside(binaries, path) for path in options.libraries)
    place = shown(location) if _is_url(location) else name
    return Unpacked(binaries, f"{KIND} {place} sha256 {digest}", Runtime(libraries=libraries))


def _location(origin: Origin) -> str:
    options = origin.options_as(Options)
    base = (options.mirror and environment_text(options.mirror)) or options.base
    if _is_url(base):
        _check_no_user(base)
    return f"{base.rstrip('/')}/{_path(origin, options.path)}"


def _path(origin: Origin, pattern: str) -> str:
    series = ".".join(origin.version.split(".")[:2])
    try:
        return pattern.format(version=origin.version, series=series)
    except (LookupError, ValueError) as error:
        raise UsageError(f"{pattern!r} is not a valid path of an archive: {error}") from error


def _expected(origin: Origin, location: str) -> str | None:
    """Return the archive's required hash; None for a user's file without one."""
    options = origin.options_as(Options)
    if options.sha256 is not None:
        digest = options.sha256.lower()
        if not _SHA256.fullmatch(digest):
            raise UsageError(f"{digest!r} is not a SHA-256: write 64 hexadecimal digits")
        return digest
    folder, _, name = location.rpartition("/")
    if options.checksums is None:
        if not _is_url(location):
            return None
        raise SourceUnavailable("its vendor publishes no SHA-256", _GIVE_CHECKSUM)
    checksums = _path(origin, options.checksums)
    with _opened(f"{folder}/{checksums}") as file:
        lines = _read(file, _MAX_CHECKSUMS_BYTES).decode(errors="replace").splitlines()
    for line in lines:
        digest, _, published = line.partition(" ")
        if published.lstrip(" *").removeprefix("./") == name and _SHA256.fullmatch(digest):
            return digest
    raise SourceUnavailable(f"{checksums} in its directory has no checksum of {name}")


def _fetch(location: str, destination: Path) -> None:
    with _opened(location) as source, destination.open("wb") as output:
        while chunk := _read(source, _CHUNK_BYTES):
            output.write(chunk)
        length = source.headers["Content-Length"] if isinstance(source, HTTPResponse) else None
        if length is not None and output.tell() != int(length):
            raise SourceUnavailable(f"the download stopped after {output.tell()} of {length} bytes")


def _opened(location: str) -> IO[bytes]:
    try:
        if not _is_url(location):
            return Path(location).open("rb")
        opener = urllib.request.build_opener(NoDowngrade())
        return cast("IO[bytes]", opener.open(location, timeout=_TIMEOUT_S))
    except urllib.error.HTTPError as error:
        raise SourceUnavailable(f"{shown(location)}: {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise SourceUnavailable(f"{shown(location)}: {error.reason}") from error
    except (OSError, HTTPException, ValueError) as error:
        reason = without_secrets(str(error))
        raise SourceUnavailable(f"{shown(location)}: {reason}") from error


def _read(source: IO[bytes], size: int) -> bytes:
    """Read a chunk; report read errors, unlike write errors, as an unavailable source."""
    try:
        return source.read(size)
    except (OSError, HTTPException) as error:
        raise SourceUnavailable(f"the download was interrupted: {error}") from error


def _unpack(archive: Path, name: str, folder: Path) -> None:
    with archive.open("rb") as file:
        if file.read(len(_ZSTD_BEGINNING)) == _ZSTD_BEGINNING:
            raise UnsafeArchive(
                f"{name} is compressed with zstd, which Slowdust does not support: unpack it "
                "yourself and register the directory with 'slowdust builds add'"
            )
    unpack(archive, folder)


def _single_folder(unpacked: Path) -> Path:
    """Return the only top-level folder of an archive, or else the whole archive."""
    members = list(unpacked.iterdir())
    return members[0] if len(members) == 1 and members[0].is_dir() else unpacked


def _check_no_user(location: str) -> None:
    """Raise UsageError for an invalid URL, or one with a user.

    The user would be neither sent nor kept secret.
    """
    try:
        user = parse_address(location).user
    except AddressError as error:
        raise UsageError(f"'{shown(location)}' is not the URL of an archive: {error}") from None
    if user is not None:
        raise UsageError(
            f"'{shown(location)}': the URL of an archive cannot have a user: download it yourself, "
            "and give the file"
        )


def _is_url(location: str) -> bool:
    return re.match(r"[a-z]+://", location, re.IGNORECASE) is not None
