"""Results with only the fields that a test sets."""

from __future__ import annotations

from msgspec.structs import replace

from slowdust.analysis.metrics import PerOperation
from slowdust.analysis.model import Result
from slowdust.ratios import Ratio, Verdict
from slowdust.store.latency import LatencyUs

MARGIN = 0.03


def a_result(
    contender: str,
    *,
    test: str = "point-query",
    group: str = "point",
    clients: int = 1,
    rqps: float | None = None,
    verdict: Verdict | None = None,
    p50: float = 60.0,
    per_op: PerOperation | None = None,
    per_op_relative: PerOperation | None = None,
    scatter: float = 0.02,
    busiest: float = 0.1,
    errors: int = 0,
    notes: tuple[str, ...] = (),
) -> Result:
    """A result with an interval of 2% about `rqps`, and of `scatter` about its metrics."""
    ratio = rqps and Ratio(rqps, rqps * 0.98, rqps * 1.02)
    return Result(
        benchmark="micro",
        test=test,
        group=group,
        clients=clients,
        contender=contender,
        unit="operations/s",
        qps=1000.0 * (rqps or 1.0),
        typical=ratio or None,
        ratio=replace(ratio, verdict=verdict, margin=MARGIN) if ratio else None,
        slices=20,
        incarnations=2,
        measured_s=5.0,
        errors=errors,
        latency_us=LatencyUs(p50=p50, p95=2 * p50, p99=3 * p50, max=10 * p50),
        per_op=per_op or PerOperation(),
        per_op_relative=per_op_relative,
        compared={
            key: Ratio(
                ratio, low=ratio * (1 - scatter), high=ratio * (1 + scatter), verdict="unsure"
            )
            for key, ratio in (per_op_relative or {}).items()
        },
        client_busiest_thread=busiest,
        notes=list(notes),
    )
