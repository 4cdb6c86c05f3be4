"""A workload from its TOML file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from slowdust.errors import UsageError
from slowdust.experiment.spec.errors import AtKeysError, File, Keys, explain, placed, read_toml
from slowdust.experiment.workload.file import NAME, TRUTHS, WorkloadFile
from slowdust.experiment.workload.workload import Workload


def read_workload(path: Path) -> Workload:
    """Read the workload in a TOML file; its name defaults to the file's.

    Raises:
        UsageError: no such file, not TOML, or what is wrong in it, with the line and the key.
    """
    data, text = read_toml(path)
    origin = File(path, text)
    if "name" not in data and not re.fullmatch(NAME, path.stem):
        raise UsageError(f"{path}: '{path.stem}' is no name of a workload: write name = \"...\"")
    return _read({"name": path.stem, **data}, text, origin)


def check_tables(tables: object, origin: File) -> None:
    """Refuse tables of a file that no workload can have, whatever its statements.

    Raises:
        UsageError: what is wrong, with the line and the key.
    """
    statements = {"any": {"sql": "SELECT 1"}}
    tests = {"any": {"group": "point", "statements": ["any"]}}
    data = {"name": "any", "tables": tables, "statements": statements, "tests": tests}
    _read(data, "", origin)


def _read(data: Mapping[str, object], text: str, origin: File) -> Workload:
    try:
        with placed(origin):
            return checked_workload(data, text, origin)
    except ValidationError as error:
        explain(error, WorkloadFile, data, origin)


def checked_workload(data: Mapping[str, object], text: str, origin: File) -> Workload:
    """Return the workload that a file's data and text are.

    Raises:
        ValidationError: a part of it is of another kind, or out of range.
        AtKeysError: its parts do not go together.
    """
    _refuse_truth(data, ())
    workload = Workload(WorkloadFile.model_validate(data), text, origin)
    workload.check()
    return workload


def _refuse_truth(data: object, keys: Keys) -> None:
    """Refuse true and false where numbers and texts stand, since Python takes them for 1 and 0."""
    if isinstance(data, bool) and keys[-1] not in TRUTHS:
        raise AtKeysError(f"{str(data).lower()} is neither a number nor text", keys)
    items = enumerate(data) if isinstance(data, list) else ()
    for key, value in data.items() if isinstance(data, dict) else items:
        _refuse_truth(value, (*keys, key))
