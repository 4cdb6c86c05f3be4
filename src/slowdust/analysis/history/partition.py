"""Segments of a series, by PELT of the library ruptures, of which nothing else is loaded."""

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

They import every search and every cost, and with them most of SciPy, which takes a second: more
than the rest of a history.
"""


class ChangePointsUnavailableError(Exception):
    """The library is not installed for this Python."""


def segment_ends(values: FloatArray, weights: FloatArray, penalty: float) -> list[int]:
    """Return the ends (exclusive) of the segments with the least cost; a segment is >= 1 value.

    A segment costs its weighted squares plus `penalty`. Raises `ChangePointsUnavailableError`.
    """
    squares = _Squares(values, weights)
    if squares.between(0, len(values)) <= penalty:
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
            return squares.between(start, end)

    # One version is enough for a segment: the newest one may be what changed.
    fitted = search(custom_cost=WeightedMean(), min_size=1, jump=1).fit(values)
    return [int(end) for end in fitted.predict(pen=penalty)]


class _Squares:
    """Weighted squared distances from a segment's weighted mean, from running sums."""

    def __init__(self, values: FloatArray, weights: FloatArray) -> None:
        centered = values - np.average(values, weights=weights)
        self._sums: list[list[float]] = [
            [0.0, *np.cumsum(weights * centered**power).tolist()] for power in (0, 1, 2)
        ]

    def between(self, start: int, end: int) -> float:
        """Return the sum over the values from `start` up to `end`."""
        weight, first, second = (sums[end] - sums[start] for sums in self._sums)
        return max(0.0, second - first**2 / weight)


@cache
def _pelt() -> tuple[Any, Any]:
    """Return the library's search, and the class that costs are derived from."""
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ChangePointsUnavailableError(f"no module named {_PACKAGE}")
    try:
        with _stub_packages(Path(spec.submodule_search_locations[0])):
            module = import_module(f"{_PACKAGE}.detection.pelt")
            return module.Pelt, module.BaseCost
    except (ImportError, AttributeError):
        return _pelt_of_whole_library()


def _pelt_of_whole_library() -> tuple[Any, Any]:
    """Return the same from a version of the library whose modules are others."""
    try:
        return import_module(_PACKAGE).Pelt, import_module(f"{_PACKAGE}.base").BaseCost
    except ImportError as error:
        raise ChangePointsUnavailableError(str(error)) from error


@contextmanager
def _stub_packages(place: Path) -> Iterator[None]:
    """Provide empty packages for `_NOT_LOADED` while the modules below them are imported."""
    before = _loaded_modules()
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
        for name in _loaded_modules():
            del sys.modules[name]
        sys.modules.update(before)


def _loaded_modules() -> dict[str, ModuleType]:
    return {
        name: module
        for name, module in sys.modules.items()
        if name == _PACKAGE or name.startswith(f"{_PACKAGE}.")
    }
