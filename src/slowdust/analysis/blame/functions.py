"""Functions that changed in the steps that cost the most."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.analysis.blame.model import Extreme, GroupBlame, StepFunctions
from slowdust.analysis.history.model import LineHistory
from slowdust.analysis.stored import Stored
from slowdust.analysis.versions import lines_of
from slowdust.store.count import INSTRUCTIONS


def functions_of(
    line: LineHistory, groups: Sequence[GroupBlame], stored: Sequence[Stored]
) -> list[StepFunctions]:
    """Return the functions of the test in which the costliest step of each group cost the most.

    Only counted profiles tell, of an experiment that has both releases.
    """
    found: dict[tuple[str, str, str], StepFunctions] = {}
    for group in groups:
        cost = group.cost
        if cost is None or (cost.before, cost.after, cost.test) in found:
            continue
        for each in stored:
            if each.name in line.experiments and each.profiles:
                functions = _functions(line, group, cost, each)
                if functions is not None:
                    found[cost.before, cost.after, cost.test] = functions
                    break
    return list(found.values())


def _functions(
    line: LineHistory, group: GroupBlame, cost: Extreme, stored: Stored
) -> StepFunctions | None:
    names = {
        release.title: name
        for release, name in lines_of(stored.manifest.contenders).get(line.line, {}).items()
    }
    if not {cost.before, cost.after} <= names.keys():
        return None
    report = stored.report(base=names[cost.before])
    for changes in report.function_changes:
        named = (changes.test, changes.contender, changes.benchmark)
        if named == (cost.test, names[cost.after], line.benchmark) and (
            changes.unit == INSTRUCTIONS
        ):
            return StepFunctions(
                before=cost.before,
                after=cost.after,
                group=group.name,
                experiment=stored.name,
                changes=changes,
            )
    return None
