"""The rate of a step of an archived Insert Benchmark, as published or by the clients' clocks.

The published rates are rows, or queries, over the whole seconds of a clock that ran from before
the first client was started, cut after one decimal or rounded to integers. The clients' own rows
(o.ib) have neither error; o.res has the counts, so that at least nothing is cut.
"""

from __future__ import annotations

from dataclasses import dataclass

from slowdust.archive.importing import Mode
from slowdust.archive.insert.archive import ArchivedStep
from slowdust.formats.insert.client import ROLES, ClientOutput
from slowdust.formats.text import number_of

_OF_RESULT = "those of o.res"


@dataclass(frozen=True)
class StepRate:
    """The rate of a step in one role."""

    per_second: float
    source: str
    """The source, in words."""


def rate_with_source(step: ArchivedStep, role: str, mode: Mode) -> StepRate | None:
    """Return rows per second of `insert`, `index` or `delete`, or queries per second of `query`.

    None where no file has the rate.
    """
    published = _published(step, role)
    clean = _of_clients(step, role) or _of_counts(step, role)
    return published or clean if mode is Mode.COMPAT else clean or published


def rate(step: ArchivedStep, role: str, mode: Mode) -> float | None:
    """Return the rate without its source."""
    sourced = rate_with_source(step, role, mode)
    return None if sourced is None else sourced.per_second


def correction(step: ArchivedStep, role: str) -> float | None:
    """Return the clean rate / the published rate; None where only one of them is known."""
    clean, published = rate(step, role, Mode.CLEAN), _published(step, role)
    return clean / published.per_second if clean and published and published.per_second else None


def outputs(step: ArchivedStep) -> list[ClientOutput]:
    """Return the output of all clients; nothing if that of one is missing or incomplete.

    The counts of a last row that is not the last are of a beginning, which may have been faster.
    """
    there = [step.outputs[number] for number in sorted(step.outputs)]
    whole = len(there) == (step.clients or 0) and all(output.complete for output in there)
    return there if whole else []


def _published(step: ArchivedStep, role: str) -> StepRate | None:
    column = {"insert": "ips", "index": "ips", "query": "qps"}.get(role)
    if column is None:
        return None
    if step.row is not None:
        return _sourced(step.row.number(column), "as published")
    if step.result is None:
        return None
    printed = step.result.ips if column == "ips" else step.result.qps
    return None if printed is None else _sourced(number_of(printed), _OF_RESULT)


def _sourced(per_second: float | None, source: str) -> StepRate | None:
    return None if per_second is None else StepRate(per_second, source)


def _of_clients(step: ArchivedStep, role: str) -> StepRate | None:
    if role not in ROLES:
        return None
    counted = [(output.roles[role].total, output.elapsed) for output in outputs(step)]
    rates = [count / elapsed for count, elapsed in counted if count and elapsed]
    return StepRate(sum(rates), "those of its counts since the beginning") if rates else None


def _of_counts(step: ArchivedStep, role: str) -> StepRate | None:
    result = step.result
    if result is None or not result.seconds:
        return None
    if role in ("insert", "index"):
        return StepRate(result.rows / result.seconds, _OF_RESULT)
    if role == "query" and result.queries is not None:
        return StepRate(result.queries / result.seconds, _OF_RESULT)
    return None
