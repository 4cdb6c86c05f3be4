"""What of a replay makes a workload that is right: the rest is left out, and said to be."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError
from sqlglot import expressions as exp

from slowdust.errors import UsageError
from slowdust.experiment.spec.errors import AtKeysError, File, Keys, Names, explain, placed
from slowdust.experiment.workload.file import WorkloadFile
from slowdust.experiment.workload.reading import checked_workload
from slowdust.experiment.workload.replay.catalog import CatalogTable
from slowdust.experiment.workload.replay.grouping import Replayed
from slowdust.experiment.workload.replay.guesses import unsuitable
from slowdust.experiment.workload.replay.writing import Replay, file_text
from slowdust.experiment.workload.sql import syntax_tree

Refused = tuple[str, float, str]
"""A statement or a table, its executions, and why it is left out."""


def accepted(draft: Replay, most: int) -> tuple[Replay, list[Refused]]:
    """Return at most so many statements, and tables, whose file is right; and what is left out.

    Raises:
        UsageError: the tables of another workload are wrong.
    """
    statements, tables = list(draft.statements), list(draft.tables)
    refused: list[Refused] = []
    while True:
        now = replace(draft, statements=statements[:most], tables=tables)
        wrong = _wrong(now) if now.statements else None
        if wrong is None:
            return now, refused
        keys, why = wrong
        if keys[0] == "tables" and (place := _place(tables, keys)) is not None:
            refused.append((_part(tables[place].name, keys), 0.0, why))
            if _without(tables, place, keys):
                lost = [each for each in statements if _uses(each, keys[1], draft.grouped.dialect)]
                statements = [each for each in statements if each not in lost]
                why = f"the table {keys[1]} is left out"
                refused += [(each.shown, each.calls, why) for each in lost]
        elif keys[0] in ("statements", "samples", "tests"):
            number = int(str(keys[-1] if "mix" in keys else keys[1]).removeprefix("q")) - 1
            statement = statements.pop(number)
            refused.append((statement.shown, statement.calls, why))
        else:
            with placed(draft.origin):
                raise AtKeysError(why, keys)


def _wrong(draft: Replay) -> tuple[Keys, str] | None:
    """Return the keys of what is wrong in a workload, and why; None if it is right."""
    for table in draft.tables:
        if (why := unsuitable(table)) is not None:
            return ("tables", table.name), why
    data: dict[str, object] = {}
    try:
        text = file_text(draft)
        data = tomllib.loads(text)
        checked_workload(data, text, File(Path(draft.name), text))
    except AtKeysError as error:
        return error.keys, str(error)
    except ValidationError as error:
        keys = error.errors()[0]["loc"]
        try:
            explain(error, WorkloadFile, data, Names())
        except UsageError as told:
            return keys, str(told).splitlines()[0]
    return None


def _place(tables: list[CatalogTable], keys: Keys) -> int | None:
    return next((n for n, table in enumerate(tables) if table.name == keys[1]), None)


def _part(table: str, keys: Keys) -> str:
    """Return how the table is called, or its index if it is that which is wrong."""
    return f"an index of {table}" if keys[2:3] == ("indexes",) else f"the table {table}"


def _without(tables: list[CatalogTable], place: int, keys: Keys) -> bool:
    """Leave out the index that is wrong, else the whole table; return whether it was the table."""
    if keys[2:3] == ("indexes",) and isinstance(keys[3], int):
        indexes = list(tables[place].indexes)
        del indexes[keys[3]]
        tables[place] = replace(tables[place], indexes=indexes)
        return False
    del tables[place]
    return True


def _uses(statement: Replayed, table: object, dialect: str) -> bool:
    """Return whether a statement uses the table of that name."""
    name = str(table).lower()
    tree = syntax_tree("1".join(statement.parts), dialect)
    if tree is None:
        return name in statement.key.split()
    return any(used.name.lower() == name for used in tree.find_all(exp.Table))
