"""What is beside an experiment that a fleet measures: its record, and what each host measured."""

from __future__ import annotations

from pathlib import Path

import msgspec

from slowdust.store.reading import naming_damage

FLEET_SUFFIX = ".fleet"
"""End of the name of a folder beside an experiment's: what each host of a fleet measured of it."""
FLEET_SPEC_FILE = "fleet.toml"
"""The specification in that folder."""
FLEET_RECORD_FILE = "fleet.json"
"""The record in that folder: what is measured where."""


class _Record(msgspec.Struct):
    """The part of a record that says how far it has come."""

    finished: bool = False
    given_up: dict[str, str] = {}


def fleet_folder(results: Path, name: str) -> Path:
    """Return the folder of a fleet's record and of what its hosts sent.

    It is beside that of the experiment, which is made anew whenever the parts are joined.
    """
    return results / f"{name}{FLEET_SUFFIX}"


def is_part_of_fleet(part: Path) -> bool:
    """Return whether a folder is of what a host of a fleet measured: NAME.fleet/hosts/HOST/PART."""
    return len(part.parts) > 3 and part.parts[-4].endswith(FLEET_SUFFIX)


def is_of_fleet(experiment: Path) -> bool:
    """Return whether a fleet measures, or measured, the experiment of a folder."""
    return _record_file(experiment).is_file()


def way_on_of_fleet(experiment: Path) -> str | None:
    """Return how the experiment of a folder goes on, in words; None where no fleet measured it.

    Raises:
        SlowdustError: the record is damaged.
    """
    if not is_of_fleet(experiment):
        return None
    path = _record_file(experiment)
    with naming_damage(path):
        record = msgspec.json.decode(path.read_bytes(), type=_Record)
    if record.finished and not record.given_up:
        return "more needs a new experiment"
    return f"go on with it by `slowdust run {experiment.name} --resume --fleet ADDRESS`"


def _record_file(experiment: Path) -> Path:
    return fleet_folder(experiment.parent, experiment.name) / FLEET_RECORD_FILE
