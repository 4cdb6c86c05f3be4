"""Where `--config` would give a history to lines that have but one version each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from slowdust.analysis.history.chaining import Member, connected
from slowdust.analysis.history.circumstances import Circumstances
from slowdust.analysis.history.configs import ADDITION
from slowdust.analysis.versions import LineParts, Release, parts_of
from slowdust.wording import MOST_LISTED, shortened

Gathered = Mapping[tuple[Circumstances, str], Sequence[Member]]
"""The members of each line."""


def hints(gathered: Gathered, alone: Collection[str]) -> list[str]:
    """Sentences: configs that, taken for one, put lines `alone` beside others of their DBMS.

    First those that differ in nothing but their configs; only where there are none those that
    were also compiled, or started, in another way.
    """
    return _hints(gathered, alone, _CONFIGS) or _hints(gathered, alone, _CONFIGS_AND_ADDITIONS)


@dataclass(frozen=True)
class _Varied:
    """What lines may differ in that are to be one."""

    same: Callable[[LineParts], tuple[str, ...]]
    """What they have in common."""
    name: Callable[[LineParts], str]
    """The pattern that means one of them."""
    all_of_them: str
    """The pattern that means all, where they are too many to be listed."""


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


def _hints(gathered: Gathered, alone: Collection[str], varied: _Varied) -> list[str]:
    groups: dict[tuple[Circumstances, tuple[str, ...]], dict[LineParts, Sequence[Member]]] = {}
    for (where, _), members in gathered.items():
        parts = _parts(members[0])
        groups.setdefault((where, varied.same(parts)), {})[parts] = members
    told = []
    for group in groups.values():
        joined = _joined(group)
        beside = {
            parts: members
            for parts, members in group.items()
            if any(release in joined for _, contenders in members for release in contenders)
        }
        if len(joined) > 1 and len(beside) > 1 and any(one.line in alone for one in beside):
            names = list(dict.fromkeys(map(varied.name, beside)))
            pattern = ",".join(names) if len(names) <= MOST_LISTED else varied.all_of_them
            lines = [parts.line for parts in beside]
            told.append(f"--config '{pattern}' makes one line of {shortened(lines)}.")
    return list(dict.fromkeys(told))


def _parts(member: Member) -> LineParts:
    experiment, contenders = member
    names = set(contenders.values())
    return next(parts_of(one) for one in experiment.manifest.contenders if one.name in names)


def _joined(group: Mapping[LineParts, Sequence[Member]]) -> set[Release]:
    """The releases that are connected if all these lines are one: the largest set of them."""
    experiments: dict[str, Member] = {}
    for members in group.values():
        for experiment, contenders in members:
            known = experiments.get(experiment.name, (experiment, {}))[1]
            experiments[experiment.name] = (experiment, {**known, **contenders})
    return max(connected(list(experiments.values())), key=len)
