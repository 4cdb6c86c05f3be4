"""`ps aux`, taken every ten or thirty seconds beside a run (sb.ps)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from slowdust.formats.text import ends_whole

_ROW = re.compile(rb"^\S+[ ]+\d+[ ]+\S+[ ]+\S+[ ]+(\d{1,15})[ ]+(\d{1,15})[ ]", re.MULTILINE)


@dataclass(frozen=True)
class Peaks:
    """The largest sizes that any one process of the server had, in KB."""

    vsz_kb: int
    rss_kb: int
    """Of one process: shared memory would be counted once for each in a sum."""
    whole: bool
    """Whether the last line has an end."""


def read(content: bytes) -> Peaks | None:
    """The peaks over all samples; None where no process is listed."""
    sizes = _ROW.findall(content)
    if not sizes:
        return None
    vsz, rss = (max(map(int, column)) for column in zip(*sizes, strict=True))
    return Peaks(vsz, rss, ends_whole(content))
