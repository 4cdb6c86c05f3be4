"""How fast a step of an archived Insert Benchmark was: as published, or by the clients' clocks.

The published rates are rows, or queries, over the whole seconds of a clock that ran from before
the first client was started, cut after one decimal or rounded to integers. The clients' own rows
(o.ib) have neither error; o.res has the counts, so that at least nothing is cut.
"""

from __future__ import annotations

from dataclasses import dataclass

from slowdust.archive.insert.archive import ArchivedStep
from slowdust.archive.sysbench.choices import Mode
from slowdust.formats.insert.client import ClientOutput
from slowdust.formats.insert.course import ROLES
from slowdust.formats.text import number_of

_OF_RESULT = "those of o.res"


@dataclass(frozen=True)
class FoundRate:
    """How fast a step was in one role."""

    per_second: float
    source: str
    """What it is, in words."""


def found_rate(step: ArchivedStep, role: str, mode: Mode) -> FoundRate | None:
    """Rows per second of `insert` (or of `index`) and `delete`, queries per second of `query`.

    None where nothing says it.
    """
    published = _published(step, role)
    clean = _of_clients(step, role) or _of_counts(step, role)
    return published or clean if mode is Mode.COMPAT else clean or published


def rate(step: ArchivedStep, role: str, mode: Mode) -> float | None:
    """The same alone."""
    found = found_rate(step, role, mode)
    return None if found is None else found.per_second


def correction(step: ArchivedStep, role: str) -> float | None:
    """Clean rate / published rate; None where only one of them is known."""
    clean, published = rate(step, role, Mode.CLEAN), _published(step, role)
    return clean / published.per_second if clean and published and published.per_second else None


def outputs(step: ArchivedStep) -> list[ClientOutput]:
    """What the clients printed, if all of them are there with all that they did.

    The counts of a last row that is not the last are of a beginning, which may have been faster.
    """
    found = [step.outputs[number] for number in sorted(step.outputs)]
    whole = len(found) == (step.clients or 0) and all(one.complete for one in found)
    return found if whole else []


def _published(step: ArchivedStep, role: str) -> FoundRate | None:
    column = {"insert": "ips", "index": "ips", "query": "qps"}.get(role)
    if column is None:
        return None
    if step.row is not None:
        return _found(step.row.number(column), "as published")
    if step.result is None:
        return None
    printed = step.result.ips if column == "ips" else step.result.qps
    return None if printed is None else _found(number_of(printed), _OF_RESULT)


def _found(per_second: float | None, source: str) -> FoundRate | None:
    return None if per_second is None else FoundRate(per_second, source)


def _of_clients(step: ArchivedStep, role: str) -> FoundRate | None:
    if role not in ROLES:
        return None
    done = [one.courses for one in outputs(step)]
    counted = [(one.of_roles[role].total, one.elapsed) for one in done]
    rates = [count / elapsed for count, elapsed in counted if count and elapsed]
    return FoundRate(sum(rates), "those of its counts since the beginning") if rates else None


def _of_counts(step: ArchivedStep, role: str) -> FoundRate | None:
    result = step.result
    if result is None or not result.seconds:
        return None
    if role in ("insert", "index"):
        return FoundRate(result.rows / result.seconds, _OF_RESULT)
    if role == "query" and result.queries is not None:
        return FoundRate(result.queries / result.seconds, _OF_RESULT)
    return None
