"""The smallest differences that calibrations of this host detected, for later reports."""

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
"""The label of the host's resolution among the facts of the host."""


class KeptTest(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The longest calibration of this host in one test, for a DBMS and engine.

    A test at another number of clients or rows is another test.
    """

    date: str
    """The day on which it began, ISO 8601."""
    experiment: str
    contender: str
    dbms: str
    engine: str | None = None
    rows: int | None = None
    measured: Second
    """Measuring time of two contenders, over all trials."""
    needed: NeededTime


def keep(manifest: Manifest, calibration: Calibration) -> None:
    """Store the result of a calibration of this host.

    It replaces an earlier result of the same test, DBMS, engine, clients and rows unless that was
    measured longer.

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
    """Return the calibrated tests of a DBMS; only those with as many rows, if there are any."""
    kept = [test for test in all_kept() if test.dbms == dbms]
    return [test for test in kept if test.rows == rows] or kept


def host_fact(base: ContenderFacts, rows: int) -> dict[str, str]:
    """Return the host's resolution, as a fact of the host; empty before any calibration.

    It is the resolution for the base's DBMS and engine, or else for the last calibrated ones, and
    for tables of the same size if that was calibrated.
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
    """Return the host's resolution by its newest calibration; None before any."""
    kept = all_kept()
    return _sentence(kept[-1:]) if kept else None


def _sentence(kept: Sequence[KeptTest]) -> str:
    """Return the last day, its contender, the rows and the host's resolution."""
    last = max(kept, key=lambda test: test.date)
    resolved = resolution([test.needed for test in kept])
    assert resolved is not None
    phrase = resolution_phrase(resolved.difference, resolved.times)
    tables = "" if last.rows is None else f", {last.rows:,} rows"
    return f"{last.date} with {last.contender}{tables}: {phrase}"


def _merged(kept: Sequence[KeptTest], new: Sequence[KeptTest]) -> list[KeptTest]:
    """Keep the longer calibration of each test; new ones come last."""
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
    """Return the stored results; none if there is no readable file."""
    try:
        return msgspec.json.decode(_path().read_bytes(), type=list[KeptTest])
    except (OSError, *FAULTS):
        return []


def _path() -> Path:
    facts = "\n".join((__version__, *identity().values()))
    digest = hashlib.sha256(facts.encode()).hexdigest()[:16]
    return data_root() / "calibrations" / f"{digest}.json"
