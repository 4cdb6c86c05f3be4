"""What the names of the Insert Benchmark's files, directories, steps and runs say.

o.sum.t.<tag>      a run: its steps
mrg.<step>         a step: the runs, in groups; rel.<step> the same relative to the first of each
mrg.<step>.rt.<insert|delete|query>   a step: the runs' response times
<step>/o.ib.dop<N>.<client>, o.res.dop<N>, o.rt.t.<insert|delete|query>   one run, one step
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from slowdust.benchmarks.insert import INSERT, Kind

_STEP = r"(?:l\.[a-z]+\d*|q[rp]?\d{1,9}\.L?\d{1,9})"
_ROLE = r"(?:insert|delete|query)"
_SIZE = re.compile(r"\d{1,9}m\.")
_DIRECTORY_OF_QUERIES = re.compile(
    r"q(?P<kind>[rp]?)\.L(?P<loop>\d{1,9})\.ips(?P<rate>[1-9]\d{0,8})"
)
_LOADS = ("l.i0", "l.x", "l.i1", "l.i2")
_QUERIES = re.compile(r"q(?P<kind>[rp]?)(?P<rate>\d{1,9})\.(?P<numbered>L?)(?P<loop>\d{1,9})")
_LOOP_OF_2024 = re.compile(r"\.L\d{1,9}$")


class FileKind(Enum):
    """What a file of an Insert Benchmark is."""

    RUN = "o.sum"
    MERGED = "mrg"
    RELATIVE = "rel"
    MERGED_RESPONSE = "mrg.rt"
    CLIENT = "o.ib"
    RESULT = "o.res"
    RESPONSE = "o.rt"
    SELECTION = "some"
    """Rows of other files, picked by hand or for a chart."""
    BY_PRODUCT = "by-product"


_KINDS = {
    FileKind.RUN: re.compile(r"o\.sum\.t\.(?P<tag>.+)"),
    FileKind.MERGED: re.compile(rf"mrg\.(?P<step>{_STEP})"),
    FileKind.RELATIVE: re.compile(rf"rel\.(?P<step>{_STEP})"),
    FileKind.MERGED_RESPONSE: re.compile(
        rf"mrg\.(?P<step>{_STEP}|q[rp]?\.L\d{{1,9}}\.ips\d{{1,9}})\.rt\.(?P<role>{_ROLE})"
    ),
    FileKind.CLIENT: re.compile(r"o\.ib\.dop(?P<dop>\d{1,9})\.(?P<client>\d{1,9})"),
    FileKind.RESULT: re.compile(r"o\.res\.dop(?P<dop>\d{1,9})"),
    FileKind.RESPONSE: re.compile(rf"o\.rt\.t\.(?P<role>{_ROLE})"),
    FileKind.SELECTION: re.compile(r"(?:mrg|rel)\.(?:.+\.)?some|mrg\..+\.(?:ips|qps|ht)"),
    FileKind.BY_PRODUCT: re.compile(r"(?:o|mrg)\.[A-Za-z].*"),
}
"""In the order in which they are tried."""


@dataclass(frozen=True)
class IbenchFile:
    """What the name of a file says; None what it does not."""

    kind: FileKind
    tag: str | None = None
    step: str | None = None
    role: str | None = None
    clients: int | None = None
    client: int | None = None


def parse_file(name: str) -> IbenchFile | None:
    """What the name says; None for a file of nothing that is known here."""
    plain = name.removesuffix(".gz")
    for kind, pattern in _KINDS.items():
        if found := pattern.fullmatch(plain):
            said = found.groupdict()
            return IbenchFile(
                kind,
                said.get("tag"),
                said.get("step"),
                said.get("role"),
                _number(said.get("dop")),
                _number(said.get("client")),
            )
    return None


def without_size(tag: str) -> str:
    """A run's tag as merged tables have it: without the rows in millions."""
    return _SIZE.sub("", tag)


def step_of_directory(name: str, beside: Iterable[str]) -> str | None:
    """The step of a directory, where `beside` are all of its run: `q.L2.ips100` -> `q100.2`.

    None for a directory of something else. Steps with range and with point queries were not yet
    told apart by `r` and `p` when there were several loops at a rate.
    """
    if re.fullmatch(_STEP, name):
        return name
    found = _DIRECTORY_OF_QUERIES.fullmatch(name)
    if found is None:
        return None
    if found["kind"]:
        return f"q{found['kind']}{found['rate']}.L{found['loop']}"
    others = filter(None, map(_DIRECTORY_OF_QUERIES.fullmatch, beside))
    loops = sorted(int(one["loop"]) for one in others if one["rate"] == found["rate"])
    return f"q{found['rate']}.{loops.index(int(found['loop'])) + 1}"


def known_as(step: str) -> str:
    """What Slowdust calls the step: `qr100.L1` is its `qr100`, others keep their names."""
    return _LOOP_OF_2024.sub("", step)


def rate_of(step: str) -> int | None:
    """Rows per second of each client beside the queries; None for a step without queries."""
    known = INSERT.test(known_as(step))
    return known.rate if known else None


def main_role(name: str) -> str:
    """Whose rate is the step's."""
    known = INSERT.test(known_as(name))
    if known is not None and known.kind is Kind.INDEX:
        return "index"
    return "query" if known is not None and known.queries else "insert"


def in_order(steps: Iterable[str]) -> list[str]:
    """The steps in the order in which they run, unknown ones at the end."""
    return sorted(steps, key=_place)


def _place(step: str) -> tuple[int, int, int, str]:
    if step in _LOADS:
        return 0, _LOADS.index(step), 0, step
    if found := _QUERIES.fullmatch(step):
        rate = 0 if found["numbered"] else int(found["rate"])
        return 1, rate, int(found["loop"]), step
    return 2, 0, 0, step


def _number(digits: str | None) -> int | None:
    return int(digits) if digits else None
