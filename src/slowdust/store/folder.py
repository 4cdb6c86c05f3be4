"""One experiment's folder below `results/`.

    experiment.toml   the specification as run
    workload.toml     a copy of the user's own workload, if it was measured
    manifest.json     contenders, builds, host, plans; replaced atomically
    slices.ndjson     one record per slice, appended and synced before the next slice starts
    counts.ndjson     one record per count, likewise
    waits.ndjson      one record per window of waits, likewise
    trials.ndjson     one record per trial of a search for capacities, likewise
    perf/             one file per profile: functions and call stacks
    logs/             the servers' logs
    annotation.json   the user's note and tags (store/experiments.py)

A writer holds the folder's lock until it exits; readers need no lock.
"""

from __future__ import annotations

import gzip
import shutil
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import msgspec

from slowdust.errors import SlowdustError, UsageError
from slowdust.places import usual_results, within
from slowdust.store.bounds import MOST_CONTENDERS, MOST_SLICES
from slowdust.store.count import Count, latest_counts
from slowdust.store.earlier import name_hold, name_holds, slice_of_schema_1, with_todays_keys
from slowdust.store.manifest import Manifest
from slowdust.store.measured import PRINTED_SCHEMA
from slowdust.store.profile import Profile, merge_profiles
from slowdust.store.slice import Slice
from slowdust.store.storage import (
    FAULTS,
    LOCK_FILE,
    DamagedFileError,
    Records,
    append_records,
    appending,
    complete_lines,
    fault,
    locked,
    naming_damage,
    read_records,
    read_schema,
    read_whole,
    replace_file,
)
from slowdust.store.trial import Trial
from slowdust.store.waits import WaitWindow
from slowdust.text import DamagedError, read_bounded, visible_in_json
from slowdust.wording import shortened

FLEET_SUFFIX = ".fleet"
"""Suffix of the folder with a fleet's record of an experiment and its hosts' results."""
FLEET_SPEC_FILE = "fleet.toml"
FLEET_RECORD_FILE = "fleet.json"


class _FleetRecord(msgspec.Struct):
    """The progress in a fleet's record."""

    finished: bool = False
    given_up: dict[str, str] = {}


def fleet_folder(results: Path, name: str) -> Path:
    """Return the folder of a fleet's record and its hosts' results.

    It is next to the experiment's folder, which is rebuilt whenever the parts are merged.
    """
    return results / f"{name}{FLEET_SUFFIX}"


def is_part_of_fleet(part: Path) -> bool:
    """Return whether a folder has the results of a fleet's host: NAME.fleet/hosts/HOST/PART."""
    return len(part.parts) > 3 and part.parts[-4].endswith(FLEET_SUFFIX)


def is_fleet_experiment(experiment: Path) -> bool:
    """Return whether a fleet measured, or measures, the experiment of a folder."""
    return _fleet_record_file(experiment).is_file()


def describe_resuming(experiment: Path) -> str | None:
    """Return in words how to continue a fleet's experiment; None if no fleet measured it.

    Raises SlowdustError if the record is damaged.
    """
    if not is_fleet_experiment(experiment):
        return None
    path = _fleet_record_file(experiment)
    with naming_damage(path):
        record = msgspec.json.decode(path.read_bytes(), type=_FleetRecord)
    if record.finished and not record.given_up:
        return "it is finished; measure more in a new experiment"
    return f"resume it with `slowdust run {experiment.name} --resume --fleet ADDRESS`"


def _fleet_record_file(experiment: Path) -> Path:
    return fleet_folder(experiment.parent, experiment.name) / FLEET_RECORD_FILE


_PART_BYTES = 1 << 24


def too_many_contenders(name: str, count: int) -> str:
    return f"'{name}' has {count:,} contenders; a report can have at most {MOST_CONTENDERS}"


def _refuse_many(path: Path) -> None:
    """Raise UsageError if a file has more lines than a report can use, before reading them."""
    lines = 0
    with path.open("rb") as file:
        while part := file.read(_PART_BYTES):
            lines += part.count(b"\n")
            if lines > MOST_SLICES:
                raise UsageError(
                    f"{path} has more than {MOST_SLICES:,} slices, too many for a report"
                )


def _check(manifest: Manifest) -> None:
    """Raise ValidationError if the contenders or hosts of a manifest are not distinct."""
    names = [contender.name for contender in manifest.contenders]
    if not names:
        raise msgspec.ValidationError("it has no contenders")
    if len(set(names)) < len(names):
        raise msgspec.ValidationError("two contenders have the same name")
    if manifest.base not in names:
        raise msgspec.ValidationError(f"the base '{manifest.base}' is not a contender")
    hosts = [host.name for host in manifest.hosts]
    numbers = [number for host in manifest.hosts for number in host.incarnations]
    if len(set(hosts)) < len(hosts):
        raise msgspec.ValidationError("two hosts have the same name")
    if len(set(numbers)) < len(numbers):
        raise msgspec.ValidationError("two hosts have the same incarnation")


def _distinct_places(
    records: Iterable[Slice], contenders: Collection[str] | None
) -> Iterator[Slice]:
    """Yield records.

    Raises ValidationError if a record has an unknown contender, or two have the same place.
    """
    lines: dict[tuple[object, ...], int] = {}
    for number, record in enumerate(records, start=1):
        place = record.place
        if contenders is not None and place.contender not in contenders:
            raise msgspec.ValidationError(
                f"record {number}: the manifest has no contender '{place.contender}'"
            )
        first = lines.setdefault(msgspec.structs.astuple(place), number)
        if first != number:
            raise msgspec.ValidationError(f"records {first} and {number} have the same place")
        yield record


SPEC_FILE = "experiment.toml"
WORKLOAD_FILE = "workload.toml"
MANIFEST_FILE = "manifest.json"
SLICES_FILE = "slices.ndjson"
COUNTS_FILE = "counts.ndjson"
WAITS_FILE = "waits.ndjson"
TRIALS_FILE = "trials.ndjson"
PROFILES = "perf"
LOGS = "logs"
NAME = r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,199}"
"""Pattern of the name of an experiment, and of its folder.

Names of other folders and files begin with it, and file systems allow 255 bytes.
"""

BEGINNING_OF_RECORD = b'{"place":'
"""Beginning of a slice of today's schema."""


class Folder:
    """The files of one experiment."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of(cls, results: Path, name: str) -> Folder:
        """Return the folder of an experiment in a results folder; it need not exist.

        Raises UsageError if the name is not valid for a folder.
        """
        return cls(within(results, name))

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def typed(self) -> str:
        """The argument for commands: its name, or its path outside the default results folder."""
        is_usual = self.path.absolute().parent == usual_results().absolute()
        return self.name if is_usual else str(self.path)

    @property
    def spec_file(self) -> Path:
        return self.path / SPEC_FILE

    def has_manifest(self) -> bool:
        return (self.path / MANIFEST_FILE).is_file()

    def is_imported(self) -> bool:
        """Return whether it was imported."""
        return self.has_manifest() and self.read_manifest().imported is not None

    @property
    def logs(self) -> Path:
        return self.path / LOGS

    def refuse_if_running(self) -> None:
        """Raise UsageError if another process writes to this folder."""
        if (self.path / LOCK_FILE).exists():
            with self.locked():
                pass

    def refuse_if_merged(self) -> None:
        """Raise UsageError if it was merged from other experiments: only those can be resumed."""
        hosts = self.read_manifest().hosts if self.has_manifest() else []
        parts = [part.experiment for host in hosts for part in host.parts]
        if parts:
            if (how := describe_resuming(self.path)) is not None:
                raise UsageError(f"'{self.name}' was measured by a fleet: {how}")
            raise UsageError(
                f"'{self.name}' was merged from {shortened(parts)}: resume those on their hosts, "
                "and `slowdust merge` them again"
            )

    def locked(self) -> AbstractContextManager[None]:
        refusal = f"an experiment named '{self.name}' is running: choose another --name"
        return locked(self.path, refusal)

    def read_manifest(self) -> Manifest:
        """Return the manifest.

        Raises UsageError if it does not exist, a newer Slowdust wrote it, or it has more contenders
        than `MOST_CONTENDERS`; SlowdustError if it is damaged.
        """
        path = self.path / MANIFEST_FILE
        try:
            content = read_whole(path)
        except FileNotFoundError:
            raise UsageError(
                f"no results of an experiment '{self.name}' in {self.path.parent}"
            ) from None
        with naming_damage(path):
            schema = read_schema(content)
            if schema > PRINTED_SCHEMA:
                raise UsageError(
                    f"'{self.name}' has results of schema {schema}, but this Slowdust reads only "
                    f"up to {PRINTED_SCHEMA}: upgrade Slowdust"
                )
            manifest = msgspec.json.decode(with_todays_keys(content), type=Manifest)
            _check(manifest)
        if len(manifest.contenders) > MOST_CONTENDERS:
            raise UsageError(too_many_contenders(self.name, len(manifest.contenders)))
        name_holds(manifest)
        return manifest

    def read_slices(self) -> list[Slice]:
        """Return all complete records; an incomplete last line is ignored.

        Raises UsageError if there are more than `MOST_SLICES`; SlowdustError if a line before the
        last is damaged, has a contender that is not in the manifest, or repeats a place.
        """
        return list(self.each_slice())

    def each_slice(self) -> Iterator[Slice]:
        """Yield the records of `read_slices` one by one, with the same errors."""
        path = self.path / SLICES_FILE
        with suppress(FileNotFoundError):
            _refuse_many(path)
        manifest = self.read_manifest() if self.has_manifest() else None
        # An experiment that was killed early may have slices without a manifest.
        names = None if manifest is None else {each.name for each in manifest.contenders}
        steps = None if manifest is None else manifest.method.steps
        hold = None if steps is None else steps.long_transaction_s
        with naming_damage(path):
            for record in _distinct_places(_decoded(complete_lines(path)), names):
                if hold is not None:
                    name_hold(record, hold)
                yield record

    def read_counts(self) -> list[Count]:
        """Return the complete counts, one per place; an incomplete last line is ignored.

        Raises SlowdustError if a line before the last is damaged.
        """
        return latest_counts(read_records(self.path / COUNTS_FILE, Count))

    def read_waits(self) -> list[WaitWindow]:
        """Return all complete windows of waits; an incomplete last line is ignored.

        Raises SlowdustError if a line before the last is damaged.
        """
        return read_records(self.path / WAITS_FILE, WaitWindow)

    def read_trials(self) -> list[Trial]:
        """Return all complete trials; an incomplete last line is ignored.

        Raises:
            SlowdustError: a line before the last is damaged.
        """
        return read_records(self.path / TRIALS_FILE, Trial)

    def has_measured(self) -> bool:
        """Return whether there is a slice, or a trial."""
        files = [self.path / name for name in (SLICES_FILE, TRIALS_FILE)]
        return any(file.is_file() and file.stat().st_size for file in files)

    def read_profiles(self) -> list[Profile]:
        """Return the profiles in the order of their files' names, with several starts merged.

        Raises SlowdustError if one is damaged.
        """
        return merge_profiles(list(self.each_profile()))

    def each_profile(self) -> Iterator[Profile]:
        """Yield the stored profiles, with the errors of `read_profiles`."""
        for path in sorted((self.path / PROFILES).glob("*.json.gz")):
            with naming_damage(path):
                try:
                    with gzip.open(path) as file:
                        content = visible_in_json(read_bounded(file))
                except (OSError, EOFError, zlib.error, DamagedError) as error:
                    raise DamagedFileError(path, str(error)) from error
                yield msgspec.json.decode(content, type=Profile)


class Writer:
    """The only writer of an experiment's folder; `writing` creates it."""

    def __init__(self, folder: Folder, slices: Records) -> None:
        self.folder = folder
        self._slices = slices

    def write_spec(self, toml: str) -> None:
        replace_file(self.folder.spec_file, toml.encode())

    def write_workload(self, toml: str) -> None:
        replace_file(self.folder.path / WORKLOAD_FILE, toml.encode())

    def write_manifest(self, manifest: Manifest) -> None:
        content = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
        replace_file(self.folder.path / MANIFEST_FILE, content)

    def append_count(self, *counts: Count) -> None:
        append_records(self.folder.path / COUNTS_FILE, counts)

    def append_waits(self, *windows: WaitWindow) -> None:
        append_records(self.folder.path / WAITS_FILE, windows)

    def append_trials(self, *trials: Trial) -> None:
        """Append and sync trials."""
        append_records(self.folder.path / TRIALS_FILE, trials)

    def write_profile(self, profile: Profile, number: int, start: int | None) -> None:
        """Replace the profile of its source, step and start, of the `number`-th contender."""
        folder = self.folder.path / PROFILES
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise SlowdustError(f"cannot write {folder}: {error.strerror}") from error
        source = profile.source if start is None else f"{profile.source}-{start}"
        name = f"{profile.test}@{profile.clients}-{number}-{source}.json.gz"
        replace_file(within(folder, name), gzip.compress(msgspec.json.encode(profile)))

    def append(self, *records: Slice) -> None:
        """Append and sync slices."""
        self._slices.append(*records)


@contextmanager
def writing(folder: Folder) -> Iterator[Writer]:
    """Hold the folder's lock and write to it.

    Raises UsageError if another process is running the experiment.
    """
    folder.path.mkdir(parents=True, exist_ok=True)
    with folder.locked():
        folder.logs.mkdir(exist_ok=True)
        try:
            with appending(folder.path / SLICES_FILE) as slices:
                yield Writer(folder, slices)
        finally:
            if not folder.has_manifest() and not (folder.path / SLICES_FILE).stat().st_size:
                # It failed before the first slice: there is nothing to keep.
                shutil.rmtree(folder.path, ignore_errors=True)


def experiments(results: Path) -> list[Folder]:
    manifests = (path for path in results.glob(f"*/{MANIFEST_FILE}") if path.is_file())
    return newest_first(Folder(path.parent) for path in manifests)


def newest_first(folders: Iterable[Folder]) -> list[Folder]:
    """Return folders with manifests, the most recently stored one first."""
    return sorted(
        folders, key=lambda folder: (folder.path / MANIFEST_FILE).stat().st_mtime, reverse=True
    )


def _decoded(lines: Iterable[bytes]) -> Iterator[Slice]:
    """Decode records, including records of earlier schemas.

    Raises MsgspecError if a line is damaged; the message has its number.
    """
    decoder = msgspec.json.Decoder(Slice)
    for number, line in enumerate(lines, start=1):
        try:
            if line.startswith(BEGINNING_OF_RECORD):
                yield decoder.decode(with_todays_keys(line))
            elif line.strip():
                yield slice_of_schema_1(line)
        except FAULTS as error:
            raise msgspec.ValidationError(f"line {number}: {fault(error)}") from error
