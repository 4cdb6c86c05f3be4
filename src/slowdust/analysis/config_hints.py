"""Where `--config` would give a history to lines that have but one version each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from slowdust.analysis.chaining import Member, connected
from slowdust.analysis.circumstances import Circumstances
from slowdust.analysis.phrases import MOST_LISTED, shortened
from slowdust.analysis.versions import LineParts, Release, parts_of

Gathered = Mapping[tuple[Circumstances, str], Sequence[Member]]
"""The members of each line."""


def hints(gathered: Gathered, alone: Collection[str]) -> list[str]:
    """Sentences: configs that, taken for one, put lines `alone` beside others of their DBMS.

    First those that differ in nothing but their configs; only where there are none those that
    were also compiled, or started, in another way.
    """
    return _hints(gathered, alone, _but_configs, "") or _hints(
        gathered, alone, _but_configs_and_additions, "+*"
    )


def _but_configs(parts: LineParts) -> tuple[str, ...]:
    return parts.system, parts.additions, parts.rest


def _but_configs_and_additions(parts: LineParts) -> tuple[str, ...]:
    return parts.system, parts.rest


def _hints(
    gathered: Gathered,
    alone: Collection[str],
    alike: Callable[[LineParts], tuple[str, ...]],
    additions: str,
) -> list[str]:
    groups: dict[tuple[Circumstances, tuple[str, ...]], dict[LineParts, Sequence[Member]]] = {}
    for (where, _), members in gathered.items():
        parts = _parts(members[0])
        groups.setdefault((where, alike(parts)), {})[parts] = members
    told = []
    for group in groups.values():
        joined = _joined(group)
        beside = {
            parts: members
            for parts, members in group.items()
            if any(release in joined for _, contenders in members for release in contenders)
        }
        if len(joined) > 1 and len(beside) > 1 and any(one.line in alone for one in beside):
            names = list(dict.fromkeys(f"{parts.config}{additions}" for parts in beside))
            pattern = ",".join(names) if len(names) <= MOST_LISTED else f"*{additions}"
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
