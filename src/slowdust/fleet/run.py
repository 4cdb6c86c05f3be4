"""An experiment that a fleet measures, from its specification to its last slice."""

from __future__ import annotations

import fcntl
import secrets
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from slowdust.errors import UsageError
from slowdust.experiment.journal import StartMode
from slowdust.experiment.outlook import outlook_of
from slowdust.experiment.spec.spec import Spec
from slowdust.fleet.gathering import Join
from slowdust.fleet.head import Head
from slowdust.fleet.model import Cluster, HostFacts
from slowdust.fleet.planning.cutting import cut
from slowdust.fleet.planning.sizing import sizing_by
from slowdust.fleet.record import (
    HOSTS,
    Asked,
    Record,
    Wanted,
    has_record,
    read_record,
    write_record,
)
from slowdust.fleet.view import FleetView
from slowdust.store.folder import Folder, replace_file
from slowdust.store.of_fleet import FLEET_SPEC_FILE, FLEET_SUFFIX, fleet_folder
from slowdust.units import Second


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the folder of a fleet's experiment, so that no other head goes on with it.

    One in which nothing was measured is removed afterwards: its name is free again.

    Raises:
        UsageError: another one holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            name = folder.name.removesuffix(FLEET_SUFFIX)
            raise UsageError(f"a fleet measures '{name}' now") from None
        try:
            yield
        finally:
            was_begun = has_record(folder) and read_record(folder).placements
            if not was_begun and not (folder / HOSTS).exists():
                shutil.rmtree(folder, ignore_errors=True)


def prepare(
    spec: Spec,
    results: Path,
    asked: Asked,
    hosts: int,
    mode: StartMode,
    *,
    facts: Collection[HostFacts] = (),
) -> Record:
    """Return the record of an experiment that begins, for so many hosts, or that goes on.

    `facts` are those of the hosts that told them before the plan is made.

    Raises:
        UsageError: its name is taken, or it is another one than before.
    """
    folder = fleet_folder(results, spec.name)
    if mode is StartMode.RESUME:
        record = read_record(folder)
        _refuse_taken(Folder(results / spec.name), mode)
        if (folder / FLEET_SPEC_FILE).read_text(encoding="utf-8") != spec.to_toml():
            raise UsageError(
                f"cannot resume '{spec.name}': its specification changed since it was started: it "
                f"is kept as {folder / FLEET_SPEC_FILE}"
            )
        _refuse_other_design(spec.name, record.wanted, asked)
        record.wanted = asked.over(record.wanted)
        return record
    if has_record(folder) and read_record(folder).placements:
        raise UsageError(
            f"a fleet measured '{spec.name}' already: choose another name, or go on with it by "
            f"--resume"
        )
    _refuse_taken(Folder(results / spec.name), mode)
    wanted = asked.over(Wanted())
    there = min(hosts, wanted.hosts or hosts)
    sizing = sizing_by(facts, spec)
    shards, cuts = cut(spec, there, partial(_seconds, results), sizing, wanted.replicate)
    record = Record(
        id=f"{spec.name}-{secrets.token_hex(4)}",
        wanted=wanted,
        shards=shards,
        cuts=cuts,
        sizing=sizing,
    )
    replace_file(folder / FLEET_SPEC_FILE, spec.to_toml().encode())
    write_record(folder, record)
    return record


def _refuse_other_design(name: str, before: Wanted, asked: Asked) -> None:
    """Refuse to go on on another number of hosts for each shard.

    Raises:
        UsageError: says what it was before.
    """
    if asked.replicate not in (None, before.replicate):
        was = "--spread" if before.replicate == 1 else f"--replicate {before.replicate}"
        raise UsageError(
            f"cannot resume '{name}' with other copies: it was begun with {was}, which stays"
        )


def _refuse_taken(target: Folder, mode: StartMode) -> None:
    """Refuse to join results where other ones are than those that were joined there before.

    Raises:
        UsageError: says what to do.
    """
    joined = target.has_manifest() and bool(target.read_manifest().hosts)
    if (joined and mode is StartMode.RESUME) or not target.path.is_dir():
        return
    if any(target.path.iterdir()):
        remedy = "choose another name" if mode is StartMode.FRESH else "move it elsewhere"
        raise UsageError(f"there is a '{target.name}' in {target.path.parent} already: {remedy}")


def _seconds(results: Path, spec: Spec) -> Second:
    """Return the time that a specification is expected to take on a host that has its builds."""
    outlook = outlook_of(spec, results)
    return outlook.wall - outlook.builds


def measure(
    spec: Spec,
    results: Path,
    record: Record,
    *,
    cluster: Cluster,
    view: FleetView,
    join: Join,
) -> Folder:
    """Measure an experiment, or what is left of it; return the folder of the joined one.

    Raises:
        SlowdustError: no host is left, or nothing could be measured.
    """
    target = Folder(results / spec.name)
    folder = fleet_folder(results, spec.name)
    Head(folder, target, spec, record, cluster=cluster, view=view, join=join).run()
    return target
