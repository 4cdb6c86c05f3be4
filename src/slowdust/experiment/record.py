"""The making of records: of a slice and of a long step alike, and of a count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from slowdust.experiment.driver.protocol import Performed, Ran
from slowdust.experiment.plan import PlannedStep
from slowdust.probes.probe import WindowUse
from slowdust.store.count import Count, CountedRun, CountPlace, Source
from slowdust.store.latency import Histogram
from slowdust.store.measured import Measured, PerSecond, Schedule, Use
from slowdust.store.slice import BesideSlice, Place, Slice
from slowdust.store.step import StepDetail


@dataclass
class Totals:
    """Totals of a long step over all of its roles; those of a slice are in the driver's answer."""

    operations: int
    statements: int
    rows: int
    qps: float
    unit: str
    latency: Histogram
    per_second: list[PerSecond]
    errors: dict[str, int]
    error_texts: dict[str, str]
    retries: int
    schedule: Schedule | None = None


def slice_of(
    place: Place,
    answer: Ran | Performed,
    totals: Ran | Totals,
    window: WindowUse,
    *,
    step: StepDetail | None = None,
    beside: BesideSlice | None = None,
) -> Slice:
    """Make the record of one window from the driver's answer and the probes' uses."""
    return Slice(
        place=place,
        qps=totals.qps,
        unit=totals.unit,
        measured=Measured(
            started=answer.started,
            seconds=answer.seconds or None,  # where no operation was completed
            operations=totals.operations,
            statements=totals.statements,
            rows=totals.rows,
            bytes_sent=answer.bytes_sent,
            bytes_received=answer.bytes_received,
            latency=totals.latency,
            per_second=totals.per_second,
            errors=totals.errors,
            error_texts=totals.error_texts,
            retries=totals.retries,
            schedule=totals.schedule,
            uses=window.uses | _client_use(answer),
            probe_seconds=window.seconds,
            skipped_probes=window.skipped,
        ),
        beside=beside,
        step=step,
    )


def _client_use(answer: Ran | Performed) -> dict[str, Use]:
    """Return the driver's own use; none where its threads are also those of the DBMS."""
    return {} if answer.client is None else {"client": msgspec.structs.asdict(answer.client)}


def counts_of(
    step: PlannedStep, contender: str, start: int, source: Source, runs: Sequence[CountedRun]
) -> list[Count]:
    """Make the records of the repeats of a step after one start of a contender's server."""
    return [
        Count(
            place=CountPlace(
                benchmark=step.test.benchmark,
                test=step.test.name,
                clients=step.clients,
                contender=contender,
                incarnation=start,
                repeat=repeat,
            ),
            source=source,
            run=run,
        )
        for repeat, run in enumerate(runs)
    ]
