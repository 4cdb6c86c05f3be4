"""The lines of an archived file, plain or compressed."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

UNREADABLE = (OSError, EOFError, zlib.error)
"""What reading a damaged file can raise."""


def read_lines(path: Path) -> list[str]:
    """The lines; what is no UTF-8 in them is replaced. Raises one of `UNREADABLE`."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    return content.decode(errors="replace").splitlines()
