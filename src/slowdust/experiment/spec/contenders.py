"""The contenders of an experiment: as its file writes them, and as its matrices make them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from slowdust.experiment.spec.contender_name import parse_contender
from slowdust.experiment.spec.matrix import Combination, Matrix, check_number, combinations
from slowdust.experiment.spec.values import Settings, Strict


class ContenderSpec(Strict):
    """A contender with settings, and a matrix, of its own."""

    contender: str
    name: str | None = Field(None, pattern=r"^[^\s|/][^|]*$")
    set: Settings = Field(default_factory=dict)
    matrix: Matrix = Field(default_factory=dict)


@dataclass(frozen=True)
class Entrant:
    """One contender that is run."""

    contender: str
    """`DBMS@VERSION...` or a directory, with the parts that a matrix varies."""
    name: str | None
    """What its user calls it."""
    label: str
    """What a matrix varies of it, as in 'doublewrite=off sync_binlog=1'; empty without one."""
    set: Mapping[str, str]

    def title(self, found: str) -> str:
        """What reports call it; `found` is the contender with the version that was found."""
        return " ".join(filter(None, (self.name or found, self.label)))


def as_table(item: object) -> object:
    """A plain name as a table; a directory is kept where it is, whatever folder is current."""
    table = {"contender": item} if isinstance(item, str) else item
    if not isinstance(table, dict) or not isinstance(table.get("contender"), str):
        return table
    written = table["contender"]
    if not written.startswith(("./", "../", "~")) and written not in {".", ".."}:
        return table
    name = parse_contender(written)
    assert name.directory is not None
    absolute = dataclasses.replace(name, directory=name.directory.absolute())
    return {**table, "contender": absolute.text, "name": table.get("name") or _shown(written)}


def entrants_of(
    contenders: Sequence[ContenderSpec], matrix: Matrix, fixed: Collection[str] = ()
) -> list[Entrant]:
    """Every contender with every combination of `matrix` and its own; in order, the base first.

    An axis of a contender's own stands in place of one of `matrix` that has its name. `fixed` are
    the settings that are the same for all.

    Raises:
        ValueError: a matrix that cannot be crossed, or that varies a setting that is fixed.
        UsageError: a contender without the parts that vary.
    """
    entrants: list[Entrant] = []
    for spec in contenders:
        entrants.extend(_crossed(spec, combinations({**matrix, **spec.matrix}), fixed))
        check_number(len(entrants))
    return entrants


def _crossed(
    spec: ContenderSpec, crossed: Sequence[Combination], fixed: Collection[str]
) -> Iterator[Entrant]:
    for combination in crossed:
        if both := sorted({*fixed, *spec.set} & combination.settings.keys()):
            raise ValueError(f"{spec.contender}: `set` fixes {both[0]}, which a matrix varies")
        parts = combination.parts
        yield Entrant(
            contender=parse_contender(spec.contender).with_parts(parts)
            if parts
            else spec.contender,
            name=spec.name,
            label=_label(combination, [] if spec.name is None else combination.parts.values()),
            set={**spec.set, **combination.settings},
        )


def _label(combination: Combination, parts: Iterable[str]) -> str:
    """A name of the user's own hides the parts that vary, so that the label has to tell them."""
    points = [*filter(None, parts), *(f"{axis}={at}" for axis, at in combination.labels.items())]
    return " ".join(re.sub(r"[\s|]+", "_", point) for point in points)


def _shown(directory: str) -> str:
    return directory.lstrip("./~") or "build"
