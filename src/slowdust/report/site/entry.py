"""An experiment as the index of a site lists it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from slowdust.analysis.model import Report
from slowdust.analysis.origin import kind_of_import
from slowdust.analysis.stored import Stored
from slowdust.store.keeping.annotation import Annotation
from slowdust.units import known


class Entry(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What the index says of one experiment."""

    name: str
    started: str = ""
    """Start in ISO 8601, UTC; empty where nobody knows it."""
    state: str = ""
    """'finished', 'NOT FINISHED', 'imported (sysbench)', 'unreadable'."""
    base: str = ""
    others: list[str] = []
    """The contenders beside the base."""
    benchmarks: list[str] = []
    tests: int = 0
    """Number of tests."""
    clients: list[int] = []
    host: str = ""
    verdicts: dict[str, int] = {}
    """Verdict -> number of results."""
    work: dict[str, int] = {}
    """Verdict on counted work -> number of results."""
    annotation: Annotation = msgspec.field(default_factory=Annotation)
    error: str = ""
    """Why it cannot be read; empty if it can."""
    previous: str = ""
    """The experiment before it that can be compared with it; empty if there is none."""

    @property
    def can_be_read(self) -> bool:
        """Whether it has a page."""
        return not self.error

    @property
    def words(self) -> str:
        """What a search looks through, in lower case."""
        annotation = self.annotation
        parts = [self.name, self.started, self.state, self.base, *self.others, *self.benchmarks]
        return " ".join([*parts, self.host, *annotation.tags, annotation.note]).casefold()


def entry_of(stored: Stored, report: Report) -> Entry:
    """Return the entry of an experiment, without note and tags."""
    manifest = stored.manifest
    kind = kind_of_import(manifest)
    works = known(result.work for result in report.results)
    state = "finished" if manifest.finished else "NOT FINISHED"
    return Entry(
        name=manifest.experiment,
        started=manifest.started or "",
        state=state if kind is None else f"imported ({kind})",
        base=report.base,
        others=[name for name in report.contenders if name != report.base],
        benchmarks=list(dict.fromkeys(result.benchmark for result in report.results)),
        tests=len({result.test for result in report.results}),
        clients=sorted({result.clients for result in report.results}),
        host=manifest.host.get("CPU", manifest.host.get("host", "")),
        verdicts=_tally((result.verdict for result in report.results), _VERDICTS),
        work=_tally((work.verdict for work in works), _AMOUNTS),
    )


def with_previous(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries, each with the last one before it that has the same base and benchmark
    and at least one of its other contenders."""
    dated = sorted((each for each in entries if each.started), key=lambda each: each.started)
    previous: dict[str, str] = {}
    for place, entry in enumerate(dated):
        for earlier in reversed(dated[:place]):
            if _comparable(earlier, entry):
                previous[entry.name] = earlier.name
                break
    return [
        msgspec.structs.replace(entry, previous=previous.get(entry.name, "")) for entry in entries
    ]


def _comparable(before: Entry, after: Entry) -> bool:
    return (
        (before.base, before.benchmarks) == (after.base, after.benchmarks)
        and bool({*before.others} & {*after.others})
        and not any(entry.state.startswith("imported") for entry in (before, after))
    )


_VERDICTS = ("slower", "faster", "same", "unsure")
_AMOUNTS = ("more", "less", "same", "unsure")


def _tally(verdicts: Iterable[str | None], order: Sequence[str]) -> dict[str, int]:
    """Return how often each verdict occurs, in this order, of those that do."""
    counts = Counter(verdicts)
    return {verdict: counts[verdict] for verdict in order if counts[verdict]}
