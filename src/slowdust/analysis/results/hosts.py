"""Results on each host of a merged experiment, and the hosts themselves."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.analysis.model import (
    GroupResult,
    HostDisagreement,
    HostInfo,
    HostResult,
    JoinedExperiment,
    Result,
)
from slowdust.analysis.results.per_op import rate_of
from slowdust.stats.common_shift import find_host_outliers
from slowdust.stats.hosts import Hosts
from slowdust.stats.verdict import Judgement
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from slowdust.wording import listing


def host_results(slices: Sequence[Slice], hosts: Hosts) -> list[HostResult]:
    found = []
    for host in hosts.names(record.place.incarnation for record in slices):
        if not host:
            continue
        own = [record for record in slices if hosts.of[record.place.incarnation] == host]
        incarnations = len({record.place.incarnation for record in own})
        found.append(HostResult(host=host, qps=rate_of(own), incarnations=incarnations))
    return found


def relate_hosts(result: Result, judgement: Judgement, hosts: Hosts) -> None:
    """Set a result's ratio to the base on each host and each group of hosts."""
    estimate = judgement.estimate
    ratios = {own.host: own for own in estimate.hosts}
    for each in result.hosts:
        if len(result.hosts) == 1:
            each.ratio, each.blocks = judgement.relative.judged(), estimate.blocks
        elif own := ratios.get(each.host):
            is_of_totals = judgement.basis == "all time" and own.all_time is not None
            relative = own.all_time if is_of_totals and own.all_time else own.typical
            each.ratio, each.blocks = relative.judged(), own.blocks
    for group, of_group in judgement.groups.items():
        if (ratio := of_group.ratio) is None:
            continue
        members = [each.host for each in of_group.estimate.hosts] or [
            each.host for each in result.hosts if hosts.groups[each.host] == group
        ]
        result.groups.append(GroupResult(group=group, hosts=members, ratio=ratio))


def notes_about_hosts(result: Result) -> list[str]:
    """Return notes on the hosts and groups of hosts for which a result does not hold."""
    if len(result.hosts) == 1:
        return [
            f"measured only on {result.hosts[0].host}: the interval does not include variation "
            "between hosts"
        ]
    missing = [each.host for each in result.hosts if each.ratio is None]
    notes = [f"too few blocks, excluded from the ratio: {listing(missing)}"] if missing else []
    verdicts = {group.ratio.verdict for group in result.groups}
    if len(verdicts) < 2:
        return notes
    by_group = listing([f"{group.ratio.verdict} on {group.group}" for group in result.groups])
    return [*notes, f"CPU models disagree: {by_group}"]


def host_disagreements(judged: Sequence[Judgement], margin: float) -> list[HostDisagreement]:
    """Return the hosts that disagree with the others; disagreement over all tests first."""
    return [
        HostDisagreement(
            host=each.host,
            others=list(each.others),
            contender=each.contender,
            test=None if each.step is None else each.step.test,
            clients=None if each.step is None else each.step.clients,
            tests=each.tests,
            ratio=each.ratio,
            chance=each.chance,
        )
        for each in find_host_outliers([judgement.estimate for judgement in judged], margin)
    ]


def host_infos(manifest: Manifest, slices: Sequence[Slice]) -> list[HostInfo]:
    infos = []
    for host in manifest.hosts:
        numbers = set(host.incarnations)
        own = [record for record in slices if record.place.incarnation in numbers]
        infos.append(
            HostInfo(
                name=host.name,
                group=host.group,
                facts={
                    label: value
                    for label, value in host.host.items()
                    if manifest.host.get(label) != value
                },
                cpus=len(host.cpus) or None,
                experiments=[
                    JoinedExperiment(experiment=part.experiment, path=part.path)
                    for part in host.parts
                ],
                incarnations=len({record.place.incarnation for record in own}),
                slices=len(own),
                tests=len({record.place.test for record in own}),
                started=host.started,
                finished=host.finished,
                spent_s=host.spent_s,
            )
        )
    return infos
