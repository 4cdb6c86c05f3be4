"""Experiments over versions with known true throughput, in a results folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from slowdust.analysis.history.history import Choice
from slowdust.analysis.history.lines import Configs
from slowdust.analysis.history.series import Experiment
from slowdust.analysis.story.bands import DEFAULT_BANDS, Bands
from slowdust.store.folder import SLICES_FILE, Folder, writing
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from tests.unit.synthetic import (
    QUIET,
    Noise,
    synthetic_experiment,
    synthetic_manifest,
    synthetic_slice,
)

TESTS = ("point-query", "hot-points", "scan", "update-index")
HOST = {"CPU": "synthetic", "Cores": "2 logical", "Memory": "7.9 GiB, 7 GiB available"}

Levels = Mapping[str, float | Mapping[str, float]]
"""Version -> true throughput, of all tests or by test."""


def measured(
    name: str,
    levels: Levels,
    *,
    dbms: str = "mysql",
    tests: Sequence[str] = TESTS,
    noise: Noise = QUIET,
    host: Mapping[str, str] | None = None,
    seed: int = 1,
) -> tuple[Manifest, list[Slice]]:
    """A whole experiment; the first of `levels` is its base."""
    contenders = [f"{dbms}@{version}" for version in levels]
    shifts = {f"{dbms}@{version}": level for version, level in levels.items()}
    manifest, slices = synthetic_experiment(
        contenders, tests, shifts=shifts, noise=noise, blocks=6, seed=seed
    )
    return _named(manifest, name, HOST if host is None else host), slices


def single_runs(
    name: str,
    levels: Levels,
    *,
    tests: Sequence[str] = TESTS,
    host: Mapping[str, str] | None = None,
) -> tuple[Manifest, list[Slice]]:
    """One slice of each, as imports have them."""
    slices = [
        synthetic_slice(
            contender=f"mysql@{version}",
            test=test,
            qps=1000 * (level if isinstance(level, float | int) else level[test]),
        )
        for test in tests
        for version, level in levels.items()
    ]
    manifest = synthetic_manifest([f"mysql@{version}" for version in levels], tests)
    return _named(manifest, name, HOST if host is None else host), slices


def as_build(
    pair: tuple[Manifest, list[Slice]], version: str, name: str, sha256: str
) -> tuple[Manifest, list[Slice]]:
    """The same with one of its versions as a directory of binaries of that name."""
    manifest, slices = pair
    (contender,) = [facts for facts in manifest.contenders if facts.name.endswith(f"@{version}")]
    for record in slices:
        if record.place.contender == contender.name:
            record.place.contender = name
    contender.name, contender.build.sha256 = name, sha256
    return pair


def _named(manifest: Manifest, name: str, host: Mapping[str, str]) -> Manifest:
    manifest.experiment, manifest.host = name, dict(host)
    for contender in manifest.contenders:
        contender.config = "default"
    return manifest


def experiments(*pairs: tuple[Manifest, list[Slice]]) -> list[Experiment]:
    """Return the experiments as the command reads them from the results folder."""
    return [Experiment(manifest, slices) for manifest, slices in pairs]


def keep(results: Path, manifest: Manifest, slices: Sequence[Slice]) -> None:
    """Write an experiment's folder."""
    folder = Folder(results / manifest.experiment)
    with writing(folder) as writer:
        writer.write_spec("")
        writer.write_manifest(manifest)
        lines = b"".join(msgspec.json.encode(record) + b"\n" for record in slices)
        (folder.path / SLICES_FILE).write_bytes(lines)


def choice(
    *,
    benchmark: str | None = None,
    test: str | None = None,
    base: str | None = None,
    bands: Bands = DEFAULT_BANDS,
    configs: str | None = None,
    host: str | None = None,
) -> Choice:
    """Everything, unless a test says otherwise."""
    return Choice(
        benchmark=lambda name: benchmark in {None, name},
        test=lambda name: test in {None, name},
        base=base,
        bands=bands,
        configs=None if configs is None else Configs.of(configs),
        host=host,
    )
