"""Lines over several experiments: grouped by circumstances, with configs optionally merged."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from slowdust.analysis.history.series import Member, connected_releases
from slowdust.analysis.versions import LineParts, Release, parts_of, release_of, sorted_releases
from slowdust.errors import UsageError
from slowdust.store.manifest import ContenderFacts, Manifest, StepsMethod
from slowdust.wording import MOST_LISTED, counted, listing, shortened

SAME_HOST = (
    "host", "CPUs", "CPU", "Cores", "SMT", "Memory", "Virtual machine", "Filesystem", "Device",
)  # fmt: skip
"""Facts that identify a host: the machine and the location of its data.

Archives have at most the first two: the host name from iostat, and the number of CPUs from the
client's output or derived from its tables. A number of CPUs alone does not identify a host. Memory
is compared in whole GiB, since kernels reserve slightly different amounts. Settings that an owner
may change between experiments (kernel, governor, huge pages, mount options) do not make a different
host, since rates are not compared across experiments; a note reports differences.
"""
NOTED_IF_DIFFERENT = (
    "Kernel", "kernel", "Operating system", "Governor", "Turbo", "Transparent huge pages", "Swap",
    "Mounted",
)  # fmt: skip
UNRECORDED = "unrecorded"
"""The user's word for the host of experiments that did not record it."""
_AMOUNT = re.compile(r"(?P<number>[\d.]+) (?P<unit>[KMGT]i?B)")
_MB = 1 << 20


@dataclass(frozen=True)
class Circumstances:
    """A benchmark on a host with an amount of data: the subject of one history."""

    benchmark: str
    host: tuple[tuple[str, str], ...]
    """Label and value of its facts; empty if not recorded."""
    data: str
    """Tables and rows, or the workload; empty if not recorded."""
    only_experiment: str = ""
    """The only experiment of this subject, if it did not record its host."""


def circumstances_of(manifest: Manifest, benchmark: str) -> Circumstances:
    host = _where(manifest)
    only_experiment = "" if host else manifest.experiment
    return Circumstances(benchmark, host, _data_of(manifest), only_experiment)


def _where(manifest: Manifest) -> tuple[tuple[str, str], ...]:
    """Return the facts that identify the host, or the set of hosts of a merged experiment."""
    if not manifest.hosts:
        return host_of(manifest.host)
    return (("Hosts", hosts_in_words(manifest)),)


def hosts_in_words(manifest: Manifest) -> str:
    """Return the hosts of a merged experiment, sorted."""
    return ", ".join(sorted(f"{host.name} ({host.group})" for host in manifest.hosts))


def host_of(facts: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the facts that identify the host; empty without a CPU or a name."""
    if not {"CPU", "host"} & facts.keys():
        return ()
    return tuple(
        (label, normalised_fact(label, facts[label])) for label in SAME_HOST if label in facts
    )


def normalised_fact(label: str, value: str) -> str:
    """Return a fact's value without its variable part: memory is rounded to whole units."""
    if label != "Memory" or (amount := _AMOUNT.match(value)) is None:
        return value
    return f"{float(amount['number']):.0f} {amount['unit']}"


def is_host(manifest: Manifest, wanted: str) -> bool:
    """Return whether the facts of this experiment's host contain all of the user's words."""
    facts = " ".join(f"{label} {value}" for label, value in _where(manifest))
    if not facts:
        return wanted.casefold() == UNRECORDED
    return all(word in facts.casefold() for word in wanted.casefold().split())


def _data_of(manifest: Manifest) -> str:
    method = manifest.method
    if manifest.workload is not None:
        data = f"workload {manifest.workload.sha256[:10]}"
    elif method.steps is not None:
        data = _workload(method.steps)
    elif method.data is not None:
        data = method.data
    elif method.tables is None or method.rows is None:
        return ""
    else:
        data = f"{counted(method.tables, 'table')} of {counted(method.rows, 'row')}"
    if method.memory_bytes is not None:
        data += f"; servers with {method.memory_bytes / _MB:,.0f} MB of memory"
    if method.pool_bytes is not None:
        data += f"; a page cache of {method.pool_bytes / _MB:,.0f} MB"
    return data


def _workload(method: StepsMethod) -> str:
    rows = ", ".join(f"{step} {count:,}" for step, count in method.rows.items())
    commits = ", ".join(f"{step} {count:,}" for step, count in method.rows_per_commit.items())
    tables = "one table" if method.shared_table else "a table for each client"
    parts = [
        f"rows of each client: {rows}",
        f"rows per commit: {commits}",
        f"{method.seconds:g} s of queries",
        tables,
    ]
    if method.partitions:
        parts.append(counted(method.partitions, "partition"))
    if method.turns != "whole-steps":
        parts.append(f"turns after {method.turns}")
    if method.statements != "prepared":
        parts.append(f"statements as {method.statements}")
    return "; ".join(parts)


def notes_about_hosts(manifests: Sequence[Manifest]) -> list[str]:
    notes = []
    for label in NOTED_IF_DIFFERENT:
        values: dict[str, list[str]] = {}
        for manifest in manifests:
            if label in manifest.host:
                values.setdefault(manifest.host[label], []).append(manifest.experiment)
        if len(values) > 1:
            by_value = listing([f"{value} ({', '.join(names)})" for value, names in values.items()])
            notes.append(f"The host's {label.lower()} was not always the same: {by_value}.")
    return notes


ADDITION = "+"
"""Part of a pattern that also matches additions to the config."""
Gathered = Mapping[tuple[Circumstances, str], Sequence[Member]]
"""Circumstances and line -> members."""


@dataclass(frozen=True)
class Configs:
    """Names or patterns of configs; if a version has several matching configs, the first pattern
    wins.

    With a `+` in any pattern, all patterns match the config and its additions: `z11*+*o2nofp`.
    Otherwise additions have to be the same within a line.
    """

    patterns: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Configs:
        """Parse a text such as 'cz10a,cz11*'."""
        return cls(tuple(part.strip() for part in text.split(",")))

    @property
    def written(self) -> str:
        return ",".join(self.patterns)

    def releases(self, contenders: Iterable[ContenderFacts]) -> dict[str, dict[Release, str]]:
        """Return line -> its releases, the oldest first -> the matching contender of each.

        Raises:
            UsageError: one pattern matches several configs of a release, and there are other
                releases to compare it with.
        """
        lines: dict[str, dict[Release, list[tuple[int, ContenderFacts]]]] = {}
        for facts in contenders:
            parts = parts_of(facts)
            if (rank := self._rank(parts)) is not None:
                releases = lines.setdefault(self._line(parts), {})
                releases.setdefault(release_of(facts), []).append((rank, facts))
        return {
            line: {
                release: self._first(releases[release], only_release=len(releases) == 1)
                for release in sorted_releases(releases)
            }
            for line, releases in lines.items()
        }

    def _rank(self, parts: LineParts) -> int | None:
        subject = parts.config + (parts.additions if self._covers_additions else "")
        ranks = (
            rank for rank, pattern in enumerate(self.patterns) if fnmatchcase(subject, pattern)
        )
        return next(ranks, None)

    @property
    def _covers_additions(self) -> bool:
        return any(ADDITION in pattern for pattern in self.patterns)

    def _line(self, parts: LineParts) -> str:
        additions = "" if self._covers_additions else parts.additions
        return f"{parts.system}:{self.written}{additions}{parts.rest}"

    def _first(self, candidates: list[tuple[int, ContenderFacts]], *, only_release: bool) -> str:
        best = min(rank for rank, _ in candidates)
        contenders = [facts for rank, facts in candidates if rank == best]
        if len({parts_of(facts).line for facts in contenders}) > 1 and not only_release:
            names = [facts.name for facts in contenders]
            first = parts_of(contenders[0])
            named = first.config + (first.additions if self._covers_additions else "")
            raise UsageError(
                f"--config {self.written}: {listing(names)} are one version with several configs; "
                f"put the preferred one first, such as --config '{named},{self.written}'"
            )
        return contenders[0].name


def configs_of(versions: Sequence[Release], members: Iterable[Member]) -> dict[str, list[Release]]:
    """Return config with its additions -> the versions of a line that it was measured with.

    Empty if there is only one.
    """
    releases_by_config: dict[str, set[Release]] = {}
    for experiment, contenders in members:
        parts = {facts.name: parts_of(facts) for facts in experiment.manifest.contenders}
        for release, contender in contenders.items():
            if release in versions:
                own = parts[contender]
                config = own.config + own.additions
                releases_by_config.setdefault(config, set()).add(release)
    if len(releases_by_config) < 2:
        return {}
    return {
        config: [version for version in versions if version in releases]
        for config, releases in releases_by_config.items()
    }


def notes_about_configs(configs: Mapping[str, Sequence[str]]) -> list[str]:
    parts = [f"{config} ({listing(labels)})" for config, labels in configs.items()]
    return [f"Several configs are treated as one: {listing(parts)}."] if parts else []


def notes_about_lone_lines(gathered: Gathered, lone: Collection[str]) -> list[str]:
    """Return sentences on the `--config` that would give `lone` lines a history.

    It merges them with lines of their DBMS that differ only in their configs; otherwise
    with lines that also differ in compilation or environment.
    """
    return _joining_configs(gathered, lone, _CONFIGS) or _joining_configs(
        gathered, lone, _CONFIGS_AND_ADDITIONS
    )


@dataclass(frozen=True)
class _Varied:
    """The allowed difference between lines that are merged."""

    same: Callable[[LineParts], tuple[str, ...]]
    """Function that returns the common parts of a line."""
    name: Callable[[LineParts], str]
    """Function that returns the pattern for a single line."""
    all_of_them: str
    """Pattern for all lines, if they are too many to be listed."""


_CONFIGS = _Varied(
    same=lambda parts: (parts.system, parts.additions, parts.rest),
    name=lambda parts: parts.config,
    all_of_them="*",
)
_CONFIGS_AND_ADDITIONS = _Varied(
    same=lambda parts: (parts.system, parts.rest),
    name=lambda parts: parts.config + parts.additions,
    all_of_them=f"*,*{ADDITION}*",
)


def _joining_configs(gathered: Gathered, lone: Collection[str], varied: _Varied) -> list[str]:
    groups: dict[tuple[Circumstances, tuple[str, ...]], dict[LineParts, Sequence[Member]]] = {}
    for (where, _), members in gathered.items():
        parts = _parts(members[0])
        groups.setdefault((where, varied.same(parts)), {})[parts] = members
    notes = []
    for group in groups.values():
        joined = _joined(group)
        mergeable = {
            parts: members
            for parts, members in group.items()
            if any(release in joined for _, contenders in members for release in contenders)
        }
        if (
            len(joined) > 1
            and len(mergeable) > 1
            and any(parts.line in lone for parts in mergeable)
        ):
            names = list(dict.fromkeys(map(varied.name, mergeable)))
            pattern = ",".join(names) if len(names) <= MOST_LISTED else varied.all_of_them
            lines = [parts.line for parts in mergeable]
            notes.append(f"--config '{pattern}' merges {shortened(lines)} into one line.")
    return list(dict.fromkeys(notes))


def _parts(member: Member) -> LineParts:
    experiment, contenders = member
    names = set(contenders.values())
    return next(parts_of(c) for c in experiment.manifest.contenders if c.name in names)


def _joined(group: Mapping[LineParts, Sequence[Member]]) -> set[Release]:
    """Return the largest set of releases that are connected if all these lines are merged."""
    experiments: dict[str, Member] = {}
    for members in group.values():
        for experiment, contenders in members:
            others = experiments.get(experiment.name, (experiment, {}))[1]
            experiments[experiment.name] = (experiment, {**others, **contenders})
    return max(connected_releases(list(experiments.values())), key=len)
