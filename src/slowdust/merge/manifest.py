"""The manifest of a joined experiment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from slowdust import __version__
from slowdust.merge.hosts import RenumberedSource, hosts_of
from slowdust.store.finding import Finding, by_severity
from slowdust.store.manifest import (
    JOINED_SCHEMA,
    ContenderFacts,
    Counting,
    HostFacts,
    Manifest,
    Method,
    Plan,
)
from slowdust.store.preparation import Preparation
from slowdust.units import known
from slowdust.wording import listing

_Value = TypeVar("_Value")
_Record = TypeVar("_Record", bound=msgspec.Struct)


def merge_manifests(name: str, parts: Sequence[RenumberedSource]) -> Manifest:
    """Return the manifest of an experiment that has all records of its parts.

    Raises:
        UsageError: nothing tells on which host a part was measured.
    """
    manifests = [placed.records.manifest for placed in parts]
    first = manifests[0]
    hosts = hosts_of(parts)
    ends = [manifest.finished for manifest in manifests]
    return Manifest(
        schema=JOINED_SCHEMA,
        experiment=name,
        slowdust=__version__,
        driver=_common(manifest.driver for manifest in manifests),
        started=min(known(manifest.started for manifest in manifests), default=None),
        finished=None if None in ends else max(known(ends)),
        base=first.base,
        contenders=_contenders(manifests),
        tests=[*dict.fromkeys(test for manifest in manifests for test in manifest.tests)],
        clients=sorted({clients for manifest in manifests for clients in manifest.clients}),
        method=_method(manifests),
        cpus=_common(manifest.cpus for manifest in manifests) or [],
        host=_facts_in_common(hosts),
        findings=_findings(hosts),
        hosts=hosts,
        plans=_plans(manifests),
        warnings=_warnings(parts, hosts),
        settled=_settled(manifests),
        turns_done=_turns_done(manifests),
        spent_s=sum(manifest.spent_s for manifest in manifests),
        failed_steps=_renumbered(parts, "failed_steps"),
        workload=first.workload,
        preparations=_preparations(parts),
        recalls=_renumbered(parts, "recalls"),
        index_sizes=_renumbered(parts, "index_sizes"),
        counters=_renumbered(parts, "counters"),
        counting=counting_of(manifests),
    )


def counting_of(manifests: Sequence[Manifest]) -> Counting | None:
    """Return how work was counted: as in the first part that has counts, else why it was not."""
    tried = known(manifest.counting for manifest in manifests)
    return next((counting for counting in tried if counting.source is not None), None) or next(
        iter(tried), None
    )


def _renumbered(parts: Sequence[RenumberedSource], field: str) -> list[_Record]:
    """Return the records of a field of the manifests, with the incarnations' new numbers."""
    return [
        replace(record, incarnation=record.incarnation + placed.offset)
        for placed in parts
        for record in getattr(placed.records.manifest, field)
    ]


def _preparations(parts: Sequence[RenumberedSource]) -> list[Preparation]:
    """Return the facts of tables, with new numbers of incarnations and of moments."""
    preparations: list[Preparation] = []
    for placed in parts:
        last = max((each.moment for each in preparations), default=0)
        ours: list[Preparation] = _renumbered([placed], "preparations")
        preparations += [replace(each, moment=each.moment + last) for each in ours]
    return preparations


def _common(values: Iterable[_Value]) -> _Value | None:
    """Return the value that is everywhere the same; None where they differ."""
    first, *others = values
    return first if all(value == first for value in others) else None


def _contenders(manifests: Sequence[Manifest]) -> list[ContenderFacts]:
    """Return each contender as the first part has it in which it did not drop out."""
    found: dict[str, ContenderFacts] = {}
    for manifest in manifests:
        for contender in manifest.contenders:
            earlier = found.setdefault(contender.name, contender)
            if earlier.failed and not contender.failed:
                found[contender.name] = contender
    return list(found.values())


def _method(manifests: Sequence[Manifest]) -> Method:
    """Return the first one, without what differs: seeds, lengths of slices, budgets."""
    methods = [manifest.method for manifest in manifests]
    budgets = [method.budget_s for method in methods]
    lengths = {
        key: length for method in reversed(methods) for key, length in method.slice_lengths.items()
    }
    return replace(
        methods[0],
        seed=_common(method.seed for method in methods),
        slice_s=_common(method.slice_s for method in methods),
        slice_lengths=lengths,
        discard_s=_common(method.discard_s for method in methods),
        warmup_s=_common(method.warmup_s for method in methods),
        budget_s=None if None in budgets else sum(known(budgets)),
        incarnations=sum(method.incarnations for method in methods),
    )


def _facts_in_common(hosts: Sequence[HostFacts]) -> dict[str, str]:
    first = hosts[0].host
    return {
        label: value
        for label, value in first.items()
        if all(host.host.get(label) == value for host in hosts)
    }


def _findings(hosts: Sequence[HostFacts]) -> list[Finding]:
    """Return the findings of all hosts; one that is not everywhere the same names its host."""
    everywhere = [
        finding for finding in hosts[0].findings if all(finding in host.findings for host in hosts)
    ]
    of_hosts = [
        replace(finding, check=f"{finding.check} of {host.name}")
        for host in hosts
        for finding in host.findings
        if finding not in everywhere
    ]
    return by_severity([*everywhere, *of_hosts])


def _plans(manifests: Sequence[Manifest]) -> list[Plan]:
    """Return the plans, each statement of a test on a contender once."""
    plans: dict[tuple[str, str, str], Plan] = {}
    for manifest in manifests:
        for plan in manifest.plans:
            plans.setdefault((plan.test, plan.contender, plan.statement), plan)
    return list(plans.values())


def _warnings(parts: Sequence[RenumberedSource], hosts: Sequence[HostFacts]) -> list[str]:
    """Return the warnings of all parts, with the host of those that not all of them have."""
    by_warning: dict[str, list[str]] = {}
    for placed in parts:
        host = _host_of_part(placed, hosts)
        for warning in placed.records.manifest.warnings:
            by_warning.setdefault(warning, []).append(host)
        for contender in placed.records.manifest.contenders:
            if contender.failed:
                by_warning.setdefault(
                    f"{contender.name} dropped out: {contender.failed}", []
                ).append(host)
    return [
        warning if len(of) == len(parts) else f"{listing([*dict.fromkeys(of)])}: {warning}"
        for warning, of in by_warning.items()
    ]


def _host_of_part(placed: RenumberedSource, hosts: Sequence[HostFacts]) -> str:
    """Return the names of the hosts of a part."""
    paths = {part.path for host in placed.hosts() for part in host.parts}
    names = [host.name for host in hosts if any(part.path in paths for part in host.parts)]
    return listing(names)


def _settled(manifests: Sequence[Manifest]) -> list[str]:
    """Return the steps that need no more slices in any part that has them."""
    keys = dict.fromkeys(key for manifest in manifests for key in manifest.settled)
    return [
        key
        for key in keys
        if all(
            key in manifest.settled
            for manifest in manifests
            if key.rpartition("@")[0] in manifest.tests
        )
    ]


def _turns_done(manifests: Sequence[Manifest]) -> dict[str, int]:
    turns: dict[str, int] = {}
    for manifest in manifests:
        for key, done in manifest.turns_done.items():
            turns[key] = turns.get(key, 0) + done
    return turns
