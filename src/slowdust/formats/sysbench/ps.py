"""The output of `ps aux`, taken every ten or thirty seconds beside a run (sb.ps)."""

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
    """Resident size of one process: a sum would count shared memory once for each."""
    whole: bool
    """Whether the last line has an end."""


def read(content: bytes) -> Peaks | None:
    """Return the peaks over all samples; None where no process is listed."""
    sizes = _ROW.findall(content)
    if not sizes:
        return None
    vsz, rss = (max(map(int, column)) for column in zip(*sizes, strict=True))
    return Peaks(vsz, rss, ends_whole(content))
