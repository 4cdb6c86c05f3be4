"""The certificate of a server that encrypts connections, which it has signed itself."""

from __future__ import annotations

import shutil
import subprocess

from slowdust.dbms.site import Site
from slowdust.errors import SlowdustError

_PROGRAM = "openssl"
_REQUEST = (
    *(_PROGRAM, "req", "-x509", "-subj", "/CN=127.0.0.1", "-days", "3650"),
    # The kind of those that servers make for themselves, and which every version can read.
    *("-newkey", "rsa:2048", "-nodes", "-keyout", "-", "-out", "-"),
)
_TIMEOUT_S = 60.0


def why_no_certificate() -> str | None:
    """Say what this machine lacks to make a certificate; None where it lacks nothing."""
    if shutil.which(_PROGRAM):
        return None
    return f"the program {_PROGRAM}, which makes the server's certificate, is not installed"


def make_certificate(site: Site) -> None:
    """Make the files of a site's certificate and key, which its account alone can read.

    Raises:
        SlowdustError: the program fails.
        OSError: a file cannot be written.
    """
    try:
        done = subprocess.run(_REQUEST, capture_output=True, check=True, timeout=_TIMEOUT_S)
    except (OSError, subprocess.SubprocessError) as error:
        raise SlowdustError(f"no certificate can be made: {error}") from error
    key, begin, certificate = done.stdout.partition(b"-----BEGIN CERTIFICATE-----")
    site.account.make_file(site.key, key)
    site.account.make_file(site.certificate, begin + certificate)
