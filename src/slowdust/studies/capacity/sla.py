"""The SLA of a search: its terms as the user writes them, and whether a trial meets them.

In addition to the terms, a contender has to keep up with the offered rate: in a short trial a
growing backlog could meet generous limits at rates that cannot be sustained.
"""

from __future__ import annotations

import re
from decimal import Decimal

import msgspec

from slowdust.analysis.results.failures import MOST_FAILING
from slowdust.errors import UsageError
from slowdust.store.trial import PERCENTILES, Trial
from slowdust.units import Second, format_duration, parse_duration, parse_percentage
from slowdust.wording import no_such

SHARES = ("errors", "late")
"""Terms about a share of the operations: those that failed, and those that began late."""
NAMES = (*PERCENTILES, "max", *SHARES)
KEPT_UP = 0.95
"""Share of the offered rate that has to be completed in addition to the terms, as in the SLA for
writers of the Insert Benchmark."""
BEYOND = 20
"""Minimum number of operations beyond a percentile, so that a trial has the percentile."""
EXAMPLE = "p99<5ms,errors=0"
_UNITS = (("us", 1e-6), ("ms", 1e-3))
_TERM = re.compile(r"\s*([A-Za-z0-9.]+)\s*(<=|>=|<|>|=)\s*(.+?)\s*")


class Term(msgspec.Struct, frozen=True):
    """One term: a response time in seconds, or a share of the operations, below a limit."""

    name: str
    limit: float
    """0 for a share: none are allowed."""

    @property
    def is_time(self) -> bool:
        """Whether it limits a response time."""
        return self.name not in SHARES

    @property
    def text(self) -> str:
        """The term in words: 'p99 < 5ms', 'errors = 0'."""
        if not self.is_time:
            return (
                f"{self.name} < {_exact(self.limit * 100)}%" if self.limit else f"{self.name} = 0"
            )
        return f"{self.name} < {_exact_time(self.limit)}"

    def holds(self, value: float) -> bool:
        """Return whether a trial's value meets the term."""
        return value < self.limit or (not self.is_time and value == self.limit == 0)

    def distance(self, value: float) -> float:
        """Return a value relative to the limit; infinite if the limit is 0."""
        if value == 0:
            return 0.0
        return value / self.limit if self.limit else float("inf")


_ERRORS = Term("errors", MOST_FAILING)


class Sla(msgspec.Struct, frozen=True):
    """The terms that a trial has to meet, all of them."""

    terms: list[Term]

    @property
    def text(self) -> str:
        """The SLA in words: 'p99 < 5ms, errors = 0'."""
        return ", ".join(term.text for term in self.terms)

    @property
    def written(self) -> str:
        """The SLA in the form of --sla: 'p99<5ms,errors=0'."""
        return self.text.replace(" ", "")

    @property
    def times(self) -> list[Term]:
        """The terms that limit response times."""
        return [term for term in self.terms if term.is_time]

    @property
    def judged(self) -> list[Term]:
        """The terms, with a default limit of errors if none is given."""
        given = any(term.name == _ERRORS.name for term in self.terms)
        return self.terms if given else [*self.terms, _ERRORS]

    @property
    def operations(self) -> int:
        """The operations that a trial needs so that every percentile of the SLA exists."""
        shares = [PERCENTILES[term.name] for term in self.terms if term.name in PERCENTILES]
        return max((round(BEYOND / (1 - share)) for share in shares), default=BEYOND)

    @property
    def fewest(self) -> float:
        """The operations of the trial with the lowest rate: a quarter of `operations`."""
        return self.operations / 4


def format_time(seconds: Second) -> str:
    """Return a response time as text: '250us', '5ms', '1.5s'."""
    for unit, size in _UNITS:
        if seconds < 999.5 * size:  # more would round to 1000
            return f"{seconds / size:.3g}{unit}"
    return format_duration(seconds)


def _exact_time(seconds: Second) -> str:
    """Return a limit with all the digits that were given: '1.234ms', '12.345s'."""
    unit, size = next((each for each in _UNITS if seconds < 1000 * each[1]), ("s", 1.0))
    return f"{_exact(seconds / size)}{unit}"


def _exact(value: float) -> str:
    """Return a number with all the digits that were given, without an exponent."""
    return f"{Decimal(f'{value:.12g}'):f}"


def parse_sla(text: str) -> Sla:
    """Parse an SLA: `p99<5ms,errors=0`.

    Raises:
        UsageError: a term is wrong.
    """
    parts = [part for part in text.split(",") if part.strip()]
    if not parts:
        raise UsageError(f"--sla is empty: write terms such as {EXAMPLE}")
    terms = [_term(part) for part in parts]
    names = [term.name for term in terms]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"--sla: {twice[0]} is given twice")
    if not any(term.is_time for term in terms):
        raise UsageError(
            f"--sla {text} has no limit for response times: add a term such as p99<5ms"
        )
    return Sla(terms)


def _term(text: str) -> Term:
    match = _TERM.fullmatch(text)
    if match is None:
        raise UsageError(f"--sla: '{text.strip()}' is not a term: write terms such as {EXAMPLE}")
    name, sign, limit = match.groups()
    name = name.lower().replace("p99.9", "p999")
    if name not in NAMES:
        raise UsageError(f"--sla: {no_such('term', name, NAMES)}")
    if name in SHARES:
        return Term(name, _share(name, sign, limit))
    if sign != "<":
        raise UsageError(
            f"--sla: '{text.strip()}': write a response time below a limit, such as {name}<5ms"
        )
    return Term(name, _time(name, limit))


def _time(name: str, text: str) -> Second:
    try:
        if micro := re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:us|µs)", text):
            return parse_duration(micro[1]) * 1e-6
        if re.fullmatch(r"[\d.]+", text):
            raise UsageError(
                f"--sla: {name}<{text} has no unit: write {text}us, {text}ms or {text}s"
            )
        return parse_duration(text)
    except ValueError:
        raise UsageError(
            f"--sla: {name}<{text}: '{text}' is not a time: write 5ms or 250us"
        ) from None


def _share(name: str, sign: str, text: str) -> float:
    if sign == "=" and text in ("0", "0%"):
        return 0.0
    try:
        share = parse_percentage(text) if sign == "<" else 0.0
    except ValueError as error:
        raise UsageError(f"--sla: {name}<{text}: {error}") from None
    if not 0 < share < 1:
        raise UsageError(f"--sla: '{name}{sign}{text}': write {name}=0 or {name}<0.1%")
    return share


def missed(sla: Sla, values: dict[str, float]) -> list[Term]:
    """Return the terms that values do not meet; a term without a value is not met."""
    return [term for term in sla.judged if not term.holds(values.get(term.name, float("inf")))]


def meets(sla: Sla, trial: Trial) -> bool:
    """Return whether a trial meets all terms and kept up with the offered rate."""
    return trial.kept_up >= KEPT_UP and not missed(sla, trial.values)
