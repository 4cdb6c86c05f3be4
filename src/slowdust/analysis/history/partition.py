"""The best segments of a series: PELT of the library ruptures, of which nothing else is loaded."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_PACKAGE = "ruptures"
_NOT_LOADED: Mapping[str, Sequence[str]] = {
    _PACKAGE: (),
    f"{_PACKAGE}.detection": (),
    f"{_PACKAGE}.costs": ("cost_factory",),
}
"""Packages of the library whose `__init__` is not run -> names that PELT imports from them.

They import every search and every cost there is, and with them most of SciPy, which takes a
second: more than all the rest of a history.
"""


class ChangePointsUnavailableError(Exception):
    """The library is not there for this Python."""


def segment_ends(values: FloatArray, weights: FloatArray, pen: float) -> list[int]:
    """Ends (exclusive) of the segments with the smallest weighted squares plus `pen` for each.

    A segment is one value or more. Raises `ChangePointsUnavailableError`.
    """
    squares = _Squares(values, weights)
    if squares.of(0, len(values)) <= pen:
        return [len(values)]
    search, base = _pelt()

    class WeightedMean(base):  # type: ignore[misc, valid-type]
        """Squared distance from the segment's mean, both weighted."""

        model = "weighted-mean"
        min_size = 1

        def fit(self, signal: FloatArray) -> WeightedMean:
            self.signal = signal
            return self

        def error(self, start: int, end: int) -> float:
            return squares.of(start, end)

    # One version is enough for a segment: the newest one may be what changed.
    found = search(custom_cost=WeightedMean(), min_size=1, jump=1).fit(values)
    return [int(end) for end in found.predict(pen=pen)]


class _Squares:
    """Weighted squared distances from a segment's weighted mean, from running sums."""

    def __init__(self, values: FloatArray, weights: FloatArray) -> None:
        centered = values - np.average(values, weights=weights)
        self._sums: list[list[float]] = [
            [0.0, *np.cumsum(weights * centered**power).tolist()] for power in (0, 1, 2)
        ]

    def of(self, start: int, end: int) -> float:
        """Those of the values from `start` up to `end`."""
        weight, first, second = (sums[end] - sums[start] for sums in self._sums)
        return max(0.0, second - first**2 / weight)


@cache
def _pelt() -> tuple[Any, Any]:
    """The library's search, and the class that costs are derived from."""
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ChangePointsUnavailableError(f"no module named {_PACKAGE}")
    try:
        with _hollow_packages(Path(spec.submodule_search_locations[0])):
            module = import_module(f"{_PACKAGE}.detection.pelt")
            found = module.Pelt, module.BaseCost
    except (ImportError, AttributeError):
        return _whole()
    return found


def _whole() -> tuple[Any, Any]:
    """From the library with everything, where a version of it is built otherwise."""
    try:
        return import_module(_PACKAGE).Pelt, import_module(f"{_PACKAGE}.base").BaseCost
    except ImportError as error:
        raise ChangePointsUnavailableError(str(error)) from error


@contextmanager
def _hollow_packages(place: Path) -> Iterator[None]:
    """Stand-ins for `_NOT_LOADED`, while the modules below them are imported; none is left."""
    before = _loaded()
    for name in before:
        del sys.modules[name]
    for name, wanted in _NOT_LOADED.items():
        package = ModuleType(name)
        package.__path__ = [str(place.joinpath(*name.split(".")[1:]))]
        for member in wanted:
            setattr(package, member, None)
        sys.modules[name] = package
    try:
        yield
    finally:
        for name in _loaded():
            del sys.modules[name]
        sys.modules.update(before)


def _loaded() -> dict[str, ModuleType]:
    return {
        name: module
        for name, module in sys.modules.items()
        if name == _PACKAGE or name.startswith(f"{_PACKAGE}.")
    }
