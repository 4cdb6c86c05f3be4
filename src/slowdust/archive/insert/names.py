"""Names of the Insert Benchmark's files, directories, steps and runs.

o.sum.t.<tag>      the steps of a run
mrg.<step>         the runs of a step, in groups; rel.<step> the same relative to each group's first
mrg.<step>.rt.<insert|delete|query>   response times of the runs of a step
<step>/o.ib.dop<N>.<client>, o.res.dop<N>, o.rt.t.<insert|delete|query>   one run, one step
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from slowdust.archive.classic import Row

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
"""A step with queries, with or without its loop; before 2024 all queries were range queries."""


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
    """Rows of one file mrg, in the same format; used if that file is missing."""
    SELECTION = "some"
    """Rows of other files, selected by hand or for a chart."""
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
"""Patterns in the order of trying; their groups are fields of `FileName`."""


@dataclass(frozen=True)
class FileName:
    """The parts of a file name; None for missing parts."""

    kind: FileKind
    tag: str | None = None
    step: str | None = None
    role: str | None = None
    clients: int | None = None
    client: int | None = None


def parse_file(name: str) -> FileName | None:
    for kind, pattern in _KINDS.items():
        if match := pattern.fullmatch(name.removesuffix(".gz")):
            parts = match.groupdict()
            return FileName(
                kind,
                tag=parts.get("tag"),
                step=parts.get("step"),
                role=parts.get("role"),
                clients=int(parts["clients"]) if "clients" in parts else None,
                client=int(parts["client"]) if "client" in parts else None,
            )
    return None


def is_of_no_clients(name: str) -> bool:
    return re.match(_OF_NO_CLIENTS, name) is not None


def without_size(tag: str) -> str:
    """Return a run's tag as in merged tables: without the rows in millions."""
    return _SIZE.sub("", tag)


def step_of_directory(name: str, siblings: Iterable[str]) -> str | None:
    """Return the step of a directory, given all `siblings` of its run: `q.L2.ips100` -> `q100.2`.

    None for any other directory. When there were several loops at a rate, steps with range queries
    and with point queries were not yet distinguished by `r` and `p`.
    """
    if re.fullmatch(_STEP, name):
        return name
    match = _DIRECTORY_OF_QUERIES.fullmatch(name)
    if match is None:
        return None
    if match["kind"]:
        return f"q{match['kind']}{match['rate']}.L{match['loop']}"
    others = filter(None, map(_DIRECTORY_OF_QUERIES.fullmatch, siblings))
    loops = sorted(int(other["loop"]) for other in others if other["rate"] == match["rate"])
    return f"q{match['rate']}.{loops.index(int(match['loop'])) + 1}"


def rate_of(step: str) -> int | None:
    """Return each client's insert rate in rows/s during the queries; None for a step without."""
    match = _RATE.fullmatch(step)
    return int(match["rate"] or match["old_rate"]) if match else None


def main_role(step: str) -> str:
    """Return the role that determines the step's rate: `insert`, `index` or `query`."""
    if step == _INDEX_CREATION:
        return "index"
    return "insert" if rate_of(step) is None else "query"


def in_order(steps: Iterable[str]) -> list[str]:
    """Return the steps in running order, unknown steps last."""

    def place(step: str) -> tuple[int, int, int, str]:
        if step in _LOADS:
            return 0, _LOADS.index(step), 0, step
        if match := _QUERIES.fullmatch(step):
            rate = 0 if match["numbered"] else int(match["rate"])
            return 1, rate, int(match["loop"]), step
        return 2, 0, 0, step

    return sorted(steps, key=place)


SEQUENCES = (
    (
        "l.i0", "l.x", "l.i1",
        *(f"q{rate}.{loop}" for rate in (100, 200, 400, 600, 800, 1000) for loop in (1, 2)),
    ),
    ("l.i0", "l.x", "l.i1", "q100.1", "q500.1", "q1000.1"),
    (
        "l.i0", "l.x", "l.i1", "l.i2",
        "qr100.L1", "qp100.L2", "qr500.L3", "qp500.L4", "qr1000.L5", "qp1000.L6",
    ),
)  # fmt: skip
"""The steps in running order, of 2021, 2022 and 2024."""
_REACHED = 0.95
"""Share of a rate at which it counts as reached."""
Rows = Sequence[Row | None]
"""The rows of a file; None for a damaged row."""


@dataclass(frozen=True)
class Steps:
    """The steps of the rows of a file."""

    names: tuple[str, ...]
    expected: int | None
    """Number of steps of a complete file; None if unknown: several sequences begin like this."""


def name_steps(tables: Sequence[Rows], named: tuple[str, ...]) -> list[Steps | None]:
    """Return the steps of each table of a run, which has no names; None if they are unknown.

    They are derived from the number of steps, the steps with queries, the rows inserted during
    these, and the files around the table. `named` are steps with files of their own. A table is
    taken for the beginning of these, or of the steps of longer tables, rather than for a complete
    table of other steps, unless its insert rates differ.
    """
    steps_by_place: dict[int, Steps | None] = {}
    around = [named] if named else []
    for place in sorted(range(len(tables)), key=lambda place: -len(tables[place])):
        steps = _steps_of(tables[place], around)
        if steps is not None and steps.expected == len(steps.names) and steps.names not in around:
            around.append(steps.names)
        steps_by_place[place] = steps
    return [steps_by_place[place] for place in range(len(tables))]


def _steps_of(rows: Rows, around: Sequence[tuple[str, ...]]) -> Steps | None:
    def fits(sequence: tuple[str, ...]) -> bool:
        return 0 < len(rows) <= len(sequence) and all(
            row is None or bool(row.number("qps")) == (rate_of(step) is not None)
            for row, step in zip(rows, sequence, strict=False)
        )

    def likeness(sequence: tuple[str, ...]) -> tuple[int, bool, bool]:
        """Return first the number of steps with queries that had the insert rate in their names.

        That is the rate of each client; the number of clients follows from the best step.
        """
        parts = [
            inserts / rate
            for row, step in zip(rows, sequence, strict=False)
            if row is not None and (rate := rate_of(step)) and (inserts := row.number("ips"))
        ]
        reached = sum(part >= _REACHED * max(parts) for part in parts)
        return reached, sequence in around, len(sequence) == len(rows)

    sequences = [steps for steps in dict.fromkeys([*around, *SEQUENCES]) if fits(steps)]
    if not sequences:
        return None
    best = max(map(likeness, sequences))
    alike = [sequence for sequence in sequences if likeness(sequence) == best]
    names = {sequence[: len(rows)] for sequence in alike}
    if len(names) > 1 and not any(best[1:]):
        return None
    expected = len(alike[0]) if len(alike) == 1 or any(best[1:]) else None
    return Steps(alike[0][: len(rows)], expected)
