"""Configs that are treated as one, so that versions which need different ones share a line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from slowdust.analysis.history.chaining import Member, connected_releases
from slowdust.analysis.history.circumstances import Circumstances
from slowdust.analysis.versions import LineParts, Release, parts_of, release_of, sorted_releases
from slowdust.errors import UsageError
from slowdust.store.manifest import ContenderFacts
from slowdust.wording import MOST_LISTED, listing, shortened

ADDITION = "+"
"""Part of a pattern that also covers what follows the config."""
Gathered = Mapping[tuple[Circumstances, str], Sequence[Member]]
"""Circumstances and line -> its members."""


@dataclass(frozen=True)
class Configs:
    """Names or patterns of configs; if a version has several, the first pattern counts.

    If one has a `+`, all cover the config and what follows it: `z11*+*o2nofp`. Otherwise what
    follows the config has to be the same on a line.
    """

    patterns: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Configs:
        """Return the patterns of a text such as 'cz10a,cz11*'."""
        return cls(tuple(part.strip() for part in text.split(",")))

    @property
    def written(self) -> str:
        return ",".join(self.patterns)

    def releases(self, contenders: Iterable[ContenderFacts]) -> dict[str, dict[Release, str]]:
        """Return line -> its releases, the oldest first -> the contender of each that matches.

        Raises:
            UsageError: one pattern matches several configs of a release, and there is another
                release beside it that it could be compared with.
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
                f"name the one that counts first, such as --config '{named},{self.written}'"
            )
        return contenders[0].name


def configs_of(versions: Sequence[Release], members: Iterable[Member]) -> dict[str, list[Release]]:
    """Return config, with what follows it -> the versions of a line that it was measured with.

    The result is empty if there is only one.
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
    return [f"Several configs are taken for one: {listing(parts)}."] if parts else []


def notes_about_lone_lines(gathered: Gathered, lone: Collection[str]) -> list[str]:
    """Return sentences on the `--config` that would give `lone` lines a history.

    It joins them with lines of their DBMS that differ in nothing but their configs; if there are
    none, with lines that were also compiled, or started, in another way.
    """
    return _joining_configs(gathered, lone, _CONFIGS) or _joining_configs(
        gathered, lone, _CONFIGS_AND_ADDITIONS
    )


@dataclass(frozen=True)
class _Varied:
    """Difference of lines that are to be joined."""

    same: Callable[[LineParts], tuple[str, ...]]
    """Function of a line that returns what all have in common."""
    name: Callable[[LineParts], str]
    """Function of a line that returns the pattern of it alone."""
    all_of_them: str
    """Pattern of all lines, if they are too many to be listed."""


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
        beside = {
            parts: members
            for parts, members in group.items()
            if any(release in joined for _, contenders in members for release in contenders)
        }
        if len(joined) > 1 and len(beside) > 1 and any(parts.line in lone for parts in beside):
            names = list(dict.fromkeys(map(varied.name, beside)))
            pattern = ",".join(names) if len(names) <= MOST_LISTED else varied.all_of_them
            lines = [parts.line for parts in beside]
            notes.append(f"--config '{pattern}' makes one line of {shortened(lines)}.")
    return list(dict.fromkeys(notes))


def _parts(member: Member) -> LineParts:
    experiment, contenders = member
    names = set(contenders.values())
    return next(parts_of(c) for c in experiment.manifest.contenders if c.name in names)


def _joined(group: Mapping[LineParts, Sequence[Member]]) -> set[Release]:
    """Return the largest set of releases that are connected if all these lines are one."""
    experiments: dict[str, Member] = {}
    for members in group.values():
        for experiment, contenders in members:
            others = experiments.get(experiment.name, (experiment, {}))[1]
            experiments[experiment.name] = (experiment, {**others, **contenders})
    return max(connected_releases(list(experiments.values())), key=len)
