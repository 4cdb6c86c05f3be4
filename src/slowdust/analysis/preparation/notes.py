"""Notes on results, and warnings, about different starts and different work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from slowdust.analysis.model import Result
from slowdust.analysis.preparation.facts import Difference, differences, same_build
from slowdust.analysis.preparation.quantities import ALIKE
from slowdust.analysis.preparation.work import quantities_of, worst_work_difference
from slowdust.store.manifest import ContenderFacts, Manifest
from slowdust.store.preparation import Preparation
from slowdust.wording import counted

UNKNOWN_START = "start unknown: the server reports nothing of its tables"
"""The note on results of a contender whose tables could not be compared with the others'."""


def add_notes_about_starts(
    results: Sequence[Result], manifest: Manifest, contenders: Sequence[str]
) -> list[str]:
    """Add a note to each result that a different start may explain; return warnings about them.

    `contenders` has the base first, beside which the others are compared.
    """
    facts = _ordered(manifest, contenders)
    warnings: list[str] = []
    for records in _by_moment(manifest.preparations):
        apart = differences(records, facts)
        steps = {record.contender: record.steps for record in records}
        first = records[0]
        for contender, of_contender in _by_contender(apart).items():
            text = (
                f"{_summary(of_contender)} (incarnation {first.incarnation}, after {first.after})"
            )
            what = _beginning(of_contender)
            warnings.append(f"{what}: {contender}: {text}")
            for result in results:
                if result.contender == contender and _key(result) in steps[contender]:
                    result.notes.append(f"{what}: {text}")
        for record in records:
            if not record.facts and len(records) > 1:
                for result in results:
                    if result.contender == record.contender and _key(result) in record.steps:
                        _add_once(result, UNKNOWN_START)
        if first.repeated and not apart:
            warnings.append(
                f"the tables of incarnation {first.incarnation} were prepared again "
                f"{counted(first.repeated, 'time')} after {first.after}, until they were alike"
            )
    return warnings


def add_notes_about_work(
    results: Sequence[Result], manifest: Manifest, contenders: Sequence[str]
) -> None:
    """Add a note to each result whose server did other work than the base's of the same build."""
    base, *others = _ordered(manifest, contenders)
    for contender in others:
        if not same_build(contender, base):
            continue  # other work of another build is evidence
        for result in results:
            if result.contender != contender.name:
                continue
            worst = worst_work_difference(
                [work for work in manifest.counters if work.step == _key(result)],
                contender.name,
                base.name,
                quantities_of(result),
                ALIKE,
            )
            if worst is not None:
                difference, incarnation = worst
                result.notes.append(
                    f"different work of one build: {difference.sentence()} "
                    f"(incarnation {incarnation})"
                )


def _add_once(result: Result, note: str) -> None:
    if note not in result.notes:
        result.notes.append(note)


def _ordered(manifest: Manifest, contenders: Sequence[str]) -> list[ContenderFacts]:
    facts = {contender.name: contender for contender in manifest.contenders}
    return [facts[name] for name in contenders]


def _by_moment(records: Sequence[Preparation]) -> list[list[Preparation]]:
    moments: dict[int, list[Preparation]] = defaultdict(list)
    for record in records:
        moments[record.moment].append(record)
    return list(moments.values())


def _by_contender(apart: Sequence[Difference]) -> dict[str, list[Difference]]:
    contenders: dict[str, list[Difference]] = defaultdict(list)
    for difference in apart:
        contenders[difference.contender].append(difference)
    return contenders


def _beginning(apart: Sequence[Difference]) -> str:
    differs = any(difference.beside is not None for difference in apart)
    return "different start" if differs else "unfinished preparation"


def _summary(apart: Sequence[Difference]) -> str:
    """Write the largest difference, and how many more there are."""
    largest, *others = apart
    more = f"; {counted(len(others), 'more difference')}" if others else ""
    return largest.sentence() + more


def _key(result: Result) -> str:
    return f"{result.test}@{result.clients}"
