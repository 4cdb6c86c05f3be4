"""What calibrations have shown of this host, kept for the reports of later experiments."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from slowdust import __version__
from slowdust.analysis.calibration import resolution
from slowdust.analysis.model import Calibration, NeededTime
from slowdust.errors import SlowdustError
from slowdust.locks import waiting_lock
from slowdust.places import DATA_VARIABLE, data_root, make_enterable
from slowdust.probes.host.machine import identity
from slowdust.store.manifest import ContenderFacts, Manifest
from slowdust.store.storage import FAULTS, replace_file
from slowdust.units import Second
from slowdust.wording import resolution_phrase

LABEL = "Calibrated"
"""The fact of the host that says what it resolves."""


class KeptTest(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The longest calibration of this host by a DBMS and engine in one test.

    A test is one of so many clients, over tables of so many rows.
    """

    date: str
    """The day on which it began, ISO 8601."""
    experiment: str
    contender: str
    dbms: str
    engine: str | None = None
    rows: int | None = None
    measured: Second
    """Time that two contenders were measured, over all trials."""
    needed: NeededTime


def keep(manifest: Manifest, calibration: Calibration) -> None:
    """Keep what a calibration says of this host.

    A test replaces an earlier one of the same DBMS, engine, clients and rows if it was measured as
    long or longer.

    Raises:
        SlowdustError: the data root cannot be written.
    """
    new = [
        KeptTest(
            date=(manifest.started or "")[:10],
            experiment=manifest.experiment,
            contender=calibration.contender,
            dbms=calibration.dbms,
            engine=calibration.engine,
            rows=manifest.method.rows,
            measured=need.seconds * calibration.trials,
            needed=need,
        )
        for need in calibration.needed
    ]
    path = _path()
    make_enterable(path.parent, DATA_VARIABLE)
    try:
        with waiting_lock(path.with_suffix(".lock")):
            kept = _merged(all_kept(), new)
            replace_file(path, msgspec.json.format(msgspec.json.encode(kept)))
    except OSError as error:
        raise SlowdustError(f"cannot write {path}: {error.strerror}") from error


def kept_tests(dbms: str, rows: int) -> list[KeptTest]:
    """Return the calibrated tests of a DBMS, those with as many rows where there are any."""
    kept = [test for test in all_kept() if test.dbms == dbms]
    return [test for test in kept if test.rows == rows] or kept


def host_fact(base: ContenderFacts, rows: int) -> dict[str, str]:
    """Return what this host resolves, as a fact of the host; empty before any calibration.

    It is by the base's DBMS and engine and by tables of as many rows, or else by what was
    calibrated last.
    """
    kept = all_kept()
    if not kept:
        return {}
    last = kept[-1]
    alike = [test for test in kept if _system(test) == _system(base)]
    alike = alike or [test for test in kept if _system(test) == _system(last)]
    nearest = rows if any(test.rows == rows for test in alike) else alike[-1].rows
    return {LABEL: _sentence([test for test in alike if test.rows == nearest])}


def newest_sentence() -> str | None:
    """Return what this host resolves by its newest calibration; None before any."""
    kept = all_kept()
    return _sentence(kept[-1:]) if kept else None


def _sentence(kept: Sequence[KeptTest]) -> str:
    """Return the last day, its contender, the rows and what the host resolves."""
    last = max(kept, key=lambda test: test.date)
    resolved = resolution([test.needed for test in kept])
    assert resolved is not None
    phrase = resolution_phrase(resolved.difference, resolved.times)
    tables = "" if last.rows is None else f", {last.rows:,} rows"
    return f"{last.date} with {last.contender}{tables}: {phrase}"


def _merged(kept: Sequence[KeptTest], new: Sequence[KeptTest]) -> list[KeptTest]:
    """Return the longer of two that are of one test; those that are new come last."""
    longest = {_key(test): test for test in kept}
    for test in new:
        earlier = longest.get(_key(test))
        if earlier is None or earlier.measured <= test.measured:
            longest.pop(_key(test), None)
            longest[_key(test)] = test
    return list(longest.values())


def _key(of: KeptTest) -> tuple[object, ...]:
    return (*_system(of), of.needed.test, of.needed.clients, of.rows)


def _system(of: KeptTest | ContenderFacts) -> tuple[str, str | None]:
    return (of.dbms, of.engine)


def all_kept() -> list[KeptTest]:
    """Return what is kept; nothing where there is no file, or one that cannot be read."""
    try:
        return msgspec.json.decode(_path().read_bytes(), type=list[KeptTest])
    except (OSError, *FAULTS):
        return []


def _path() -> Path:
    facts = "\n".join((__version__, *identity().values()))
    digest = hashlib.sha256(facts.encode()).hexdigest()[:16]
    return data_root() / "calibrations" / f"{digest}.json"
