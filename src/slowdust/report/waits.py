"""What servers waited for, in the words that all formats of a report share."""

from __future__ import annotations

from slowdust.analysis.model import ContenderWaits, Difference
from slowdust.analysis.waits.words import FEWEST_SYNCS
from slowdust.wording import amount, share, signed_amount

_MOST_CALLS = 3


def facts(waits: ContenderWaits) -> list[str]:
    """Return sentences about the calls of fsync, and about how the server's threads slept."""
    sentences = []
    if (syncs := waits.syncs) is not None:
        if syncs.us is None or syncs.per_operation < FEWEST_SYNCS:
            sentences.append(f"Fewer than {FEWEST_SYNCS:g} calls of fsync per operation.")
        else:
            sentences.append(
                f"Calls of {' and '.join(syncs.calls)} per operation: "
                f"{amount(syncs.per_operation)}{_beside(syncs.per_operation_beside)}, "
                f"{amount(syncs.us)} µs each{_beside(syncs.us_beside)}."
            )
    if waits.sessions is not None and waits.sessions.asleep_us:
        asleep = [
            f"{call} {share(us / waits.time_us)}"
            for call, us in list(waits.sessions.asleep_us.items())[:_MOST_CALLS]
        ]
        sentences.append(f"Asleep in system calls: {', '.join(asleep)}.")
    return sentences


def change(beside: Difference) -> str:
    """Return a change with its interval: '+120 [90, 150]'."""
    return f"{signed_amount(beside.change)} [{amount(beside.low)}, {amount(beside.high)}]"


def _beside(beside: Difference | None) -> str:
    return "" if beside is None else f" (base {amount(beside.base)})"
