"""The path of the driver's binary, and a copy that the account of the servers can run."""

from __future__ import annotations

import hashlib
import os
import shutil
import sysconfig
from pathlib import Path

from slowdust.accounts import server_account
from slowdust.errors import SlowdustError
from slowdust.places import CACHE_VARIABLE, cache_root, make_enterable
from slowdust.temporary import becoming

BINARY = "slowdust-driver"
_DIGITS = 16


def find_driver() -> Path:
    """Find the driver's binary: `SLOWDUST_DRIVER`, with Python's scripts, or on PATH.

    Raises SlowdustError if it is not found.
    """
    named = os.environ.get("SLOWDUST_DRIVER")
    installed = Path(sysconfig.get_path("scripts")) / BINARY
    binary = named or (str(installed) if installed.is_file() else shutil.which(BINARY))
    if not binary:
        raise SlowdustError(f"{BINARY} is missing: `make setup` builds it")
    return Path(binary)


def runnable_driver() -> Path:
    """Return a driver's binary that the account of the servers can run.

    If the account cannot enter the driver's directory, it is a copy in the cache. Raises
    SlowdustError if there is no driver, or the cache cannot be written.
    """
    driver = find_driver().resolve()
    if server_account().can_enter(driver.parent):
        return driver
    content = driver.read_bytes()
    folder = cache_root() / "driver"
    copy = folder / f"{BINARY}-{hashlib.sha256(content).hexdigest()[:_DIGITS]}"
    if not copy.is_file():
        make_enterable(folder, CACHE_VARIABLE)
        try:
            with becoming(copy) as new:
                new.write_bytes(content)
                new.chmod(0o755)
        except OSError as error:
            raise SlowdustError(f"cannot write {copy}: {error.strerror}") from error
    return copy
