"""Examples that take long to compute, shared by many tests."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def computed_once(function: Callable[P, T]) -> Callable[P, T]:
    """Compute the result of each arguments once in a process; every call returns its own copy."""

    @cache
    def stored(key: bytes) -> bytes:
        arguments, keywords = pickle.loads(key)
        return pickle.dumps(function(*arguments, **keywords))

    @wraps(function)
    def copied(*arguments: P.args, **keywords: P.kwargs) -> T:
        result: T = pickle.loads(stored(pickle.dumps((arguments, keywords))))
        return result

    return copied
