"""Shared by unit and integration tests."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ("tests.tiers.durations", "tests.tiers.selection")

# Some environments forbid bytecode: each worker and each command under test would compile all
# modules, which takes longer than most tests.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


# Of property tests over all inputs, a quarter of the examples; `make full` runs all.
settings.register_profile("quick", max_examples=25)


def pytest_configure() -> None:
    """Handle Ctrl-C also in a run that a shell started in the background, where it is ignored.

    Programs that tests start inherit that, and tests of Ctrl-C would wait in vain.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave thousands of tests out of every search for garbage, also while they are collected."""
    gc.disable()
    collected = yield
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()
    return collected


@pytest.fixture
def open_dir() -> Iterator[Path]:
    """A directory that every user can enter, unlike pytest's."""
    path = Path(tempfile.mkdtemp(prefix="slowdust-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)
