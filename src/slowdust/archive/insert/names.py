"""Names of the Insert Benchmark's files, directories, steps and runs.

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

_STEP = r"(?:l\.[a-z]+\d*|q[rp]?\d{1,9}\.L?\d{1,9})"
_ROLE = r"(?:insert|delete|query)"
_OF_NO_CLIENTS = r"o\.(?:ib|res)\.dop0+(?:\.|$)"
_SIZE = re.compile(r"\d{1,9}m\.")
_DIRECTORY_OF_QUERIES = re.compile(
    r"q(?P<kind>[rp]?)\.L(?P<loop>\d{1,9})\.ips(?P<rate>[1-9]\d{0,8})"
)
_LOADS = ("l.i0", "l.x", "l.i1", "l.i2")
_INDEX_CREATION = "l.x"
_QUERIES = re.compile(r"q(?P<kind>[rp]?)(?P<rate>\d{1,9})\.(?P<numbered>L?)(?P<loop>\d{1,9})")
_RATE = re.compile(r"q(?:[rp](?P<rate>[1-9]\d*)(?:\.L\d{1,9})?|(?P<old_rate>[1-9]\d*)\.\d+)")
"""A step with queries, with or without its loop; before 2024 all had range queries."""


class FileKind(Enum):
    """The kinds of files of an Insert Benchmark."""

    RUN = "o.sum"
    MERGED = "mrg"
    RELATIVE = "rel"
    MERGED_RESPONSE = "mrg.rt"
    CLIENT = "o.ib"
    RESULT = "o.res"
    RESPONSE = "o.rt"
    SELECTED = "mrg.some"
    """Rows of one file mrg, in its form: they count where that file is not there."""
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
    FileKind.CLIENT: re.compile(r"o\.ib\.dop(?P<clients>[1-9]\d{0,8})\.(?P<client>\d{1,9})"),
    FileKind.RESULT: re.compile(r"o\.res\.dop(?P<clients>[1-9]\d{0,8})"),
    FileKind.RESPONSE: re.compile(rf"o\.rt\.t\.(?P<role>{_ROLE})"),
    FileKind.SELECTED: re.compile(rf"mrg\.(?P<step>{_STEP})\.some"),
    FileKind.SELECTION: re.compile(r"(?:mrg|rel)\.(?:.+\.)?some|mrg\..+\.(?:ips|qps|ht)"),
    FileKind.BY_PRODUCT: re.compile(rf"(?!{_OF_NO_CLIENTS})(?:o|mrg)\.[A-Za-z].*"),
}
"""Patterns in the order in which they are tried; their groups are fields of `FileName`."""


@dataclass(frozen=True)
class FileName:
    """The parts of a file's name; None for those that it does not have."""

    kind: FileKind
    tag: str | None = None
    step: str | None = None
    role: str | None = None
    clients: int | None = None
    client: int | None = None


def parse_file(name: str) -> FileName | None:
    plain = name.removesuffix(".gz")
    for kind, pattern in _KINDS.items():
        if match := pattern.fullmatch(plain):
            parts = match.groupdict()
            texts = (parts.get("tag"), parts.get("step"), parts.get("role"))
            counts = {key: int(parts[key]) for key in ("clients", "client") if key in parts}
            return FileName(kind, *texts, counts.get("clients"), counts.get("client"))
    return None


def is_of_no_clients(name: str) -> bool:
    """Return whether a file of a step has 0 clients in its name, as no step can have run."""
    return re.match(_OF_NO_CLIENTS, name) is not None


def without_size(tag: str) -> str:
    """Return a run's tag as merged tables have it: without the rows in millions."""
    return _SIZE.sub("", tag)


def step_of_directory(name: str, beside: Iterable[str]) -> str | None:
    """Return the step of a directory, where `beside` are all of its run: `q.L2.ips100` -> `q100.2`.

    None for a directory of something else. Steps with range and with point queries were not yet
    told apart by `r` and `p` when there were several loops at a rate.
    """
    if re.fullmatch(_STEP, name):
        return name
    match = _DIRECTORY_OF_QUERIES.fullmatch(name)
    if match is None:
        return None
    if match["kind"]:
        return f"q{match['kind']}{match['rate']}.L{match['loop']}"
    others = filter(None, map(_DIRECTORY_OF_QUERIES.fullmatch, beside))
    loops = sorted(int(other["loop"]) for other in others if other["rate"] == match["rate"])
    return f"q{match['rate']}.{loops.index(int(match['loop'])) + 1}"


def rate_of(step: str) -> int | None:
    """Return the rows per second of each client beside the queries; None for a step without."""
    match = _RATE.fullmatch(step)
    return int(match["rate"] or match["old_rate"]) if match else None


def main_role(step: str) -> str:
    """Return the role whose rate is the step's: `insert`, `index` or `query`."""
    if step == _INDEX_CREATION:
        return "index"
    return "insert" if rate_of(step) is None else "query"


def in_order(steps: Iterable[str]) -> list[str]:
    """Return the steps in the order in which they run, unknown ones at the end."""
    return sorted(steps, key=_place)


def _place(step: str) -> tuple[int, int, int, str]:
    if step in _LOADS:
        return 0, _LOADS.index(step), 0, step
    if match := _QUERIES.fullmatch(step):
        rate = 0 if match["numbered"] else int(match["rate"])
        return 1, rate, int(match["loop"]), step
    return 2, 0, 0, step
