"""The expected duration and precision of an experiment, before it starts.

The wall clock that is not budget goes to creating data, starting and loading servers, and counting
work. It is learned from earlier experiments of the same DBMS in the results folder; without any,
durations on a machine with two virtual cores are used. The precision of a test is known if the host
has been calibrated: half-widths shrink with the square root of the time.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import NamedTuple

import msgspec

from slowdust import builds
from slowdust.benchmarks.model import Measuring
from slowdust.benchmarks.steps import StepBenchmark
from slowdust.builds import Choices, usual_time
from slowdust.dbms import Family, family_if_known
from slowdust.errors import SlowdustError
from slowdust.experiment.announced import Following
from slowdust.experiment.engine import schedule
from slowdust.experiment.engine.slice_length import USUAL
from slowdust.experiment.host_calibrations import kept_tests
from slowdust.experiment.passes.work_counts import usual_budget
from slowdust.experiment.plan import plan
from slowdust.experiment.spec.spec import Spec
from slowdust.stats.verdict import MINIMUM_BLOCKS
from slowdust.store.folder import MANIFEST_FILE, experiments
from slowdust.store.manifest import Counting, Manifest, Method
from slowdust.store.storage import FAULTS
from slowdust.units import Second, known
from slowdust.wording import counted, rough_duration

_LOOKED_AT = 30
"""Newest experiments to learn from."""
_TOO_WIDE = 3.0
"""Multiple of the margin; an expected interval beyond it decides only large differences."""


class _Usual(NamedTuple):
    """The usual time per contender that is not measuring."""

    start: Second
    """A start of its server, including the loading of 100,000 rows."""
    counting: Second
    """Counting one test at one number of clients."""
    beginning: Second = 4.0
    """Starting the programs, data directories and the report; 0 if `start` includes its share."""


_PROFILE_OF_STEP: Second = 6.0
"""Sampling one step on one contender, including reading the samples."""
_WAITS_OF_STEP: Second = 8.0
"""Windows of one step on one contender, excluding the two starts."""


class _Contender(msgspec.Struct):
    name: str
    dbms: str


class _Earlier(msgspec.Struct):
    """The part of a manifest that shows how long an experiment took."""

    contenders: list[_Contender]
    tests: list[str]
    clients: list[int]
    method: Method
    started: str | None = None
    finished: str | None = None
    imported: msgspec.Raw | None = None
    turns_done: dict[str, int] = {}
    spent_s: Second = 0.0
    counting: Counting | None = None

    @property
    def overhead(self) -> Second | None:
        """Wall clock that was not measuring; None if unknown."""
        if not (self.started and self.finished and self.turns_done and self.spent_s):
            return None
        begun, ended = map(datetime.fromisoformat, (self.started, self.finished))
        return max(0.0, (ended - begun).total_seconds() - self.spent_s)

    @property
    def rows(self) -> int:
        """Rows of all tables; the usual number for a workload, which has tables of its own."""
        return (self.method.rows or 100_000) * (self.method.tables or 1)

    @property
    def starts(self) -> int:
        return len(self.contenders) * max(self.turns_done.values())

    @property
    def counts(self) -> int:
        """Counted tests, summed over contenders."""
        return len(self.contenders) * len(self.tests) * len(self.clients)


@dataclass(frozen=True)
class RunEstimate:
    """The expected course of an experiment."""

    measuring: Second
    wall: Second
    half_width: float | None
    """Expected half-width of a typical test's interval in ln rqps; None without a calibration."""
    calibrated: str
    """The day of that calibration."""
    short_of: str = ""
    """A sentence if the time is too short to decide anything; else empty."""
    following: Following = field(default_factory=Following)
    """The passes after the timed part; included in `wall`."""
    builds: Second = 0.0
    """The usual time to fetch and compile missing builds; included in `wall`."""

    def __str__(self) -> str:
        text = (
            f"expected: {rough_duration(self.wall)} in all, including "
            f"{rough_duration(self.measuring)} of measuring"
        )
        if self.builds:
            text += f" and typically {rough_duration(self.builds)} of getting builds"
        if self.half_width is not None:
            percent = f"{100 * (math.exp(self.half_width) - 1):.2g}%"
            text += f"; intervals of {percent} to each side, according to the calibration of "
            text += self.calibrated
        return text


def estimate_run(spec: Spec, results: Path, before: Manifest | None = None) -> RunEstimate:
    """Return the expected duration and precision; `before` is the progress of a resumed one."""
    system = find_base_dbms(spec)
    earlier = _earlier(results, system, spec.configured_benchmark().measuring)
    kind = family_if_known(system) or Family
    usual = _learned(earlier, _Usual(kind.usual_start, kind.usual_count))
    contenders = len(spec.planned_contenders())
    steps = [step for step in plan(spec) if step.chosen]
    missing_builds = time_for_builds(spec)
    benchmark = spec.configured_benchmark()
    if isinstance(benchmark, StepBenchmark):
        tests = [test.name for test in spec.chosen_tests()]
        lengths = [
            each.spent_s / each.starts
            for each in earlier
            if each.method.steps is not None
            and each.method.steps.seconds == benchmark.seconds
            and (each.tests, each.clients) == (tests, spec.clients)
        ]
        usual_length = benchmark.usual_length(spec.chosen_tests(), spec.clients)
        length = median(lengths) if lengths else usual_length
        starts = spec.planned_starts(benchmark.planned_starts)
        needed, budget = contenders * starts * length, spec.budget_of_steps or 0.0
        short_of = ""
        if 0 < budget < needed:
            starts_needed = f"{counted(starts, 'start')} of the servers with all steps"
            short_of = f"{starts_needed} take about {rough_duration(needed)}, more than this budget"
        measuring = max(needed, budget)
        if before is not None:
            measuring = max(0.0, measuring - before.spent_s)
        following = _following(spec, usual, before, measuring)
        wall = usual.beginning + missing_builds + measuring + following.together
        return RunEstimate(
            measuring, wall, None, "", short_of=short_of, following=following, builds=missing_builds
        )
    starts = schedule.planned_starts(spec, len(steps))
    left = spec.budget
    if before is not None:
        starts = max(1, starts - max(before.turns_done.values(), default=0))
        left = max(0.0, left - before.spent_s)
    overhead = contenders * starts * usual.start * _by_rows(spec.all_rows)
    share = left / len(steps) * 2 / contenders  # per test and pair of contenders
    kept = kept_tests(system, spec.rows) if share > 0 else []
    widths = [test.needed.half_width * math.sqrt(test.needed.seconds / share) for test in kept]
    half_width = median(widths) if widths else None
    short_of = ""
    reach = _TOO_WIDE * math.log1p(spec.margin)
    if spec.rate is None and half_width is not None and half_width > reach:
        percent = 100 * (math.exp(half_width) - 1)
        short_of = f"this budget detects only differences of {percent:.0f}% and more on this host"
    if left or before is None:
        slices = 2 * contenders * MINIMUM_BLOCKS
        shortest = contenders * spec.warmup + slices * ((spec.slice or USUAL) + spec.discard)
        left = max(left, len(steps) * starts * shortest)
    else:  # nothing is measured
        overhead = 0.0
    following = _following(spec, usual, before, left + overhead)
    return RunEstimate(
        measuring=left,
        wall=usual.beginning + missing_builds + left + overhead + following.together,
        following=following,
        builds=missing_builds,
        half_width=half_width,
        calibrated=max((test.date for test in kept), default=""),
        short_of=short_of,
    )


def find_base_dbms(spec: Spec) -> str:
    """Return the DBMS of the base; empty if its directory does not show it."""
    name = spec.planned_contenders()[0].name
    if name.dbms is not None or name.directory is None:
        return name.dbms or ""
    try:
        return builds.from_directory(name.directory).dbms
    except SlowdustError:
        return ""  # the error is reported when it is started


def _by_rows(rows: int) -> float:
    """Return the duration of a start relative to one that loads 100,000 rows."""
    return 0.5 + rows / 200_000


def _following(spec: Spec, usual: _Usual, before: Manifest | None, timed: Second) -> Following:
    """Return the duration of the passes after a timed part of `timed` seconds."""
    steps = [step for step in plan(spec) if step.chosen and not step.test.reconnects]
    places = len(spec.planned_contenders()) * len(steps)
    start = len(spec.planned_contenders()) * usual.start
    return Following(
        profile=start + places * _PROFILE_OF_STEP if spec.profile else 0.0,
        counting=min(
            _counting(spec, places * usual.counting, before),
            spec.count_budget or usual_budget(timed),
        ),
        waits=2 * start + places * _WAITS_OF_STEP if spec.waits else 0.0,
    )


def _counting(spec: Spec, whole: Second, before: Manifest | None) -> Second:
    """Return the time of counting: `whole`, or 0 if it is off or done."""
    counted = not (spec.count == "off" or spec.is_calibration or spec.has_running_servers)
    if before is not None:
        if before.counting is not None and before.counting.left_out is not None:
            return spec.count_budget or whole
        if before.finished is not None:
            return 0.0
    if not counted or (spec.count != "pmu" and shutil.which("valgrind") is None):
        return 0.0
    return whole


def time_for_builds(spec: Spec) -> Second:
    """Return the usual time to fetch and compile the builds that are not cached."""
    wanted = {
        (name.dbms, name.version, Choices(repository=spec.repo, flags=name.flags))
        for name in (planned.name for planned in spec.planned_contenders())
        if name.dbms is not None and name.version is not None
    }
    seconds = 0.0
    for dbms, version, choices in wanted:
        with suppress(SlowdustError):  # the error is reported when it is resolved
            seconds += usual_time(dbms, version, choices)
    return seconds


def _earlier(results: Path, system: str, measuring: Measuring) -> list[_Earlier]:
    """Return the newest finished experiments of the DBMS that were measured in the same way."""
    stored = []
    for folder in experiments(results)[:_LOOKED_AT]:
        try:
            content = (folder.path / MANIFEST_FILE).read_bytes()
            stored.append(msgspec.json.decode(content, type=_Earlier))
        except (OSError, *FAULTS):
            continue  # an unreadable manifest is ignored
    in_steps = measuring is Measuring.STEPS
    return [
        each
        for each in stored
        if each.imported is None
        and (each.method.steps is not None) == in_steps
        and each.contenders[0].dbms == system
        and each.overhead is not None
    ]


def _learned(earlier: Sequence[_Earlier], usual: _Usual) -> _Usual:
    """Return the medians of earlier experiments; `usual` values without any."""
    plain = [each for each in earlier if each.counting is None or each.counting.source is None]
    starts = [
        overhead / each.starts / _by_rows(each.rows)
        for each in plain
        if (overhead := each.overhead) is not None
    ]
    start = median(starts) if starts else usual.start
    counts = known(
        None
        if each.overhead is None
        else (each.overhead - each.starts * start * _by_rows(each.rows)) / each.counts
        for each in earlier
        if each not in plain
    )
    return _Usual(
        start,
        max(0.0, median(counts)) if counts else usual.counting,
        0.0 if starts else usual.beginning,
    )
