"""What calibrations have shown of this host, kept for the reports of later experiments."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from slowdust import __version__
from slowdust.analysis.calibration.calibration import resolution
from slowdust.analysis.calibration.model import Calibration, NeededTime
from slowdust.errors import SlowdustError
from slowdust.places import DATA_VARIABLE, data_root, make_enterable
from slowdust.probes.host.machine import identity
from slowdust.store.manifest import ContenderFacts, Manifest

LABEL = "Calibrated"
"""The fact of the host that says what it resolves."""


class KeptCalibration(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The last calibration of this host by a DBMS and engine."""

    date: str
    """The day on which it began, ISO 8601."""
    experiment: str
    contender: str
    dbms: str
    engine: str | None = None
    needed: list[NeededTime]

    @property
    def sentence(self) -> str:
        """The day, the contender and what the host resolves."""
        return f"{self.date} with {self.contender}: {resolution(self.needed)}"


class HostCalibrations(msgspec.Struct, kw_only=True):
    """The file of one host: its facts, and the calibrations of one version of Slowdust."""

    host: dict[str, str]
    slowdust: str
    calibrations: list[KeptCalibration] = []


def keep(manifest: Manifest, calibration: Calibration) -> None:
    """Keep a calibration of this host in place of an earlier one by the same DBMS and engine.

    Raises:
        SlowdustError: the data root cannot be written.
    """
    kept = _read()
    new = KeptCalibration(
        date=(manifest.started or "")[:10],
        experiment=manifest.experiment,
        contender=calibration.contender,
        dbms=calibration.dbms,
        engine=calibration.engine,
        needed=calibration.needed,
    )
    others = [one for one in kept.calibrations if _system(one) != _system(new)]
    kept.calibrations = [*others, new]
    path = _path()
    make_enterable(path.parent, DATA_VARIABLE)
    try:
        beside = path.with_suffix(".new")
        beside.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1))
        beside.replace(path)
    except OSError as error:
        raise SlowdustError(f"cannot write {path}: {error.strerror}") from error


def host_fact(base: ContenderFacts) -> dict[str, str]:
    """Return what this host resolves, as a fact of the host; empty before any calibration.

    It is by the base's DBMS and engine, or else by the last that was calibrated.
    """
    kept = [one for one in _read().calibrations if one.needed]
    alike = [one for one in kept if _system(one) == (base.dbms, base.engine)]
    return {LABEL: (alike or kept)[-1].sentence} if kept else {}


def _system(of: KeptCalibration | ContenderFacts) -> tuple[str, str | None]:
    return (of.dbms, of.engine)


def _read() -> HostCalibrations:
    """Return what is kept; nothing where there is no file, or one that cannot be read."""
    try:
        return msgspec.json.decode(_path().read_bytes(), type=HostCalibrations)
    except (OSError, msgspec.MsgspecError):
        return HostCalibrations(host=identity(), slowdust=__version__)


def _path() -> Path:
    facts = "\n".join((__version__, *identity().values()))
    digest = hashlib.sha256(facts.encode()).hexdigest()[:16]
    return data_root() / "calibrations" / f"{digest}.json"
