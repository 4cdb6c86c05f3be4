"""Configs that are taken for one, so that versions which need different ones have one line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from slowdust.analysis.history.chaining import Member
from slowdust.analysis.versions import LineParts, Release, in_order, parts_of, release_of
from slowdust.errors import UsageError
from slowdust.store.manifest import ContenderFacts
from slowdust.wording import listing

ADDITION = "+"
"""In a pattern: what follows the config is meant too."""


@dataclass(frozen=True)
class Configs:
    """Names or patterns of configs; of two that a version has, that of the earlier one counts.

    Where one has a `+`, all are of the config and what follows it: `z11*+*o2nofp`. Otherwise what
    follows the config has to be the same on a line.
    """

    patterns: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Configs:
        """From 'cz10a,cz11*'."""
        return cls(tuple(part.strip() for part in text.split(",")))

    @property
    def written(self) -> str:
        """As the user wrote them."""
        return ",".join(self.patterns)

    def releases(self, contenders: Iterable[ContenderFacts]) -> dict[str, dict[Release, str]]:
        """Line -> its releases, the oldest first -> the contender of each, of those that match.

        Raises:
            UsageError: one pattern matches several configs of a release, and there is another
                release beside it that it could be compared with.
        """
        found: dict[str, dict[Release, list[tuple[int, ContenderFacts]]]] = {}
        for facts in contenders:
            parts = parts_of(facts)
            if (rank := self._rank(parts)) is not None:
                releases = found.setdefault(self._line(parts), {})
                releases.setdefault(release_of(facts), []).append((rank, facts))
        return {
            line: {
                release: self._first(releases[release], alone=len(releases) == 1)
                for release in in_order(releases)
            }
            for line, releases in found.items()
        }

    def _rank(self, parts: LineParts) -> int | None:
        """The place of the first pattern that matches."""
        subject = parts.config + (parts.additions if self._additions_are_meant else "")
        ranks = (
            rank for rank, pattern in enumerate(self.patterns) if fnmatchcase(subject, pattern)
        )
        return next(ranks, None)

    @property
    def _additions_are_meant(self) -> bool:
        return any(ADDITION in pattern for pattern in self.patterns)

    def _line(self, parts: LineParts) -> str:
        additions = "" if self._additions_are_meant else parts.additions
        return f"{parts.system}:{self.written}{additions}{parts.rest}"

    def _first(self, candidates: list[tuple[int, ContenderFacts]], *, alone: bool) -> str:
        best = min(rank for rank, _ in candidates)
        facts = [one for rank, one in candidates if rank == best]
        if len({parts_of(one).line for one in facts}) > 1 and not alone:
            names = [one.name for one in facts]
            first = parts_of(facts[0])
            named = first.config + (first.additions if self._additions_are_meant else "")
            raise UsageError(
                f"--config {self.written}: {listing(names)} are one version with several configs; "
                f"name the one that counts first, such as --config '{named},{self.written}'"
            )
        return facts[0].name


def configs_of(versions: Sequence[Release], members: Iterable[Member]) -> dict[str, list[Release]]:
    """Config, with what follows it -> the versions of a line that were measured with it.

    Empty where there is but one.
    """
    found: dict[str, set[Release]] = {}
    for experiment, contenders in members:
        parts = {one.name: parts_of(one) for one in experiment.manifest.contenders}
        for release, contender in contenders.items():
            if release in versions:
                own = parts[contender]
                found.setdefault(own.config + own.additions, set()).add(release)
    if len(found) < 2:
        return {}
    return {
        config: [one for one in versions if one in releases] for config, releases in found.items()
    }


def configs_told(configs: Mapping[str, Sequence[str]]) -> list[str]:
    """A sentence where several are taken for one: which versions (their labels) are of which."""
    each = [f"{config} ({listing(labels)})" for config, labels in configs.items()]
    return [f"Several configs are taken for one: {listing(each)}."] if each else []
