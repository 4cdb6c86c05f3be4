"""Merge several experiments, measured on one host or on several, into one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from msgspec.structs import replace

from slowdust import __version__
from slowdust.errors import UsageError
from slowdust.merge.compatibility import check_compatibility
from slowdust.merge.sources import (
    Records,
    Source,
    drop_duplicates,
    hosts_of,
    read_source,
    renumber,
)
from slowdust.store.bounds import MOST_CONTENDERS, MOST_SLICES
from slowdust.store.experiments import put_in_place, staging_folder
from slowdust.store.finding import Finding, by_severity
from slowdust.store.folder import WORKLOAD_FILE, Folder, too_many_contenders, writing
from slowdust.store.manifest import (
    MERGED_SCHEMA,
    ContenderFacts,
    Counting,
    HostFacts,
    Manifest,
    Method,
    Plan,
)
from slowdust.store.preparation import Preparation
from slowdust.store.slice import Slice
from slowdust.store.storage import LOCK_FILE
from slowdust.units import known
from slowdust.user_text import read_user_text
from slowdust.wording import counted, listing, shortened

Design = Literal["replicate", "spread"]
"""The user's requirement for each test: several hosts, or one host."""
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Merged:
    """The merged experiment."""

    folder: Folder
    manifest: Manifest
    sentences: tuple[str, ...]
    """Excluded records, with reasons: copies, counts of another source."""


def merge(
    parts: Sequence[Source], target: Folder, design: Design | None = None, spec: str | None = None
) -> Merged:
    """Merge experiments; replace an earlier merged experiment with the target's name.

    Each part is an experiment of one host, or a merged one. The result depends only on the parts
    and their order, and appears completely or not at all. Parts may still be running: their present
    records are used. With a `design`, tests that violate it are an error. `spec` is their common
    specification (TOML), if any.

    Raises:
        UsageError: parts are incompatible, copies were extended separately, a host is unknown, or
            the target exists and is not a merged experiment.
        SlowdustError: a part is damaged, or the target cannot be written.
    """
    if not parts:
        raise UsageError("there is nothing to merge")
    if any(part.folder.path.resolve() == target.path.resolve() for part in parts):
        raise UsageError(
            f"'{target.name}' is one of the experiments to merge; choose another --name"
        )
    taken = target.path.exists() and any(target.path.iterdir())
    if taken and not (target.has_manifest() and target.read_manifest().hosts):
        raise UsageError(
            f"'{target.name}' already exists in {target.path.parent}; choose another --name"
        )
    records, left_out = drop_duplicates([read_source(part) for part in parts])
    check_compatibility(records)
    if (number := sum(len(part.slices) for part in records)) > MOST_SLICES:
        raise UsageError(
            f"'{target.name}' would have {number:,} slices; a report can have at most "
            f"{MOST_SLICES:,}"
        )
    records = renumber(records)
    manifest = _merged_manifest(target.name, records)
    if len(manifest.contenders) > MOST_CONTENDERS:
        raise UsageError(too_many_contenders(target.name, len(manifest.contenders)))
    # Counts of different sources are never compared: keep the manifest's source.
    source = manifest.counting.source if manifest.counting is not None else None
    counts = [count for part in records for count in part.counts]
    kept = [count for count in counts if source is None or count.source == source]
    if missing := len(counts) - len(kept):
        left_out.append(
            f"{counted(missing, 'count')} excluded: other parts counted work in a different way"
        )
    slices = [record for part in records for record in part.slices]
    if design is not None:
        _check_design(design, slices, manifest)
    numbers = {contender.name: n for n, contender in enumerate(manifest.contenders, start=1)}
    workloads = [part.part.folder.path / WORKLOAD_FILE for part in records]
    with staging_folder(target.path.parent) as incoming:
        made = Folder.of(incoming, target.name)
        with writing(made) as writer:
            writer.append(*slices)
            writer.append_count(*kept)
            writer.append_waits(*(window for part in records for window in part.waits))
            # Rates of different hosts are not comparable: keep the trials of the part with most.
            if trials := max((part.trials for part in records), key=len):
                writer.append_trials(*trials)
            # Profiles of one step and contender are averaged when they are read.
            for start, part in enumerate(records, start=1):
                for profile in part.profiles:
                    writer.write_profile(profile, numbers[profile.contender], start)
            if workload := next((file for file in workloads if file.is_file()), None):
                writer.write_workload(read_user_text(workload))
            if spec is not None:
                writer.write_spec(spec)
            writer.write_manifest(manifest)
        (made.path / LOCK_FILE).unlink(missing_ok=True)
        folder = put_in_place(made, target.path.parent)
    return Merged(folder, manifest, tuple(left_out))


def _check_design(design: Design, slices: Sequence[Slice], manifest: Manifest) -> None:
    """Refuse tests that were measured on the wrong number of hosts.

    Raises:
        UsageError: names these tests.
    """
    host_of = {number: host.name for host in manifest.hosts for number in host.incarnations}
    hosts: dict[str, set[str]] = {}
    for record in slices:
        hosts.setdefault(record.place.test, set()).add(host_of[record.place.incarnation])
    wrong = [test for test, of in hosts.items() if (len(of) == 1) == (design == "replicate")]
    if wrong:
        where = "only one host" if design == "replicate" else "several hosts"
        raise UsageError(f"--{design}: measured on {where}: {shortened(wrong)}")


def _merged_manifest(name: str, parts: Sequence[Records]) -> Manifest:
    """Return the manifest of an experiment with all records of its parts.

    Raises:
        UsageError: a part's host is unknown.
    """
    manifests = [part.manifest for part in parts]
    first = manifests[0]
    hosts = hosts_of(parts)
    ends = [manifest.finished for manifest in manifests]
    contenders: dict[str, ContenderFacts] = {}
    plans: dict[tuple[str, str, str], Plan] = {}
    preparations: list[Preparation] = []
    turns: dict[str, int] = {}
    for manifest in manifests:
        for contender in manifest.contenders:
            # From the first part without failure of the contender.
            if contenders.setdefault(contender.name, contender).failed and not contender.failed:
                contenders[contender.name] = contender
        for plan in manifest.plans:
            plans.setdefault((plan.test, plan.contender, plan.statement), plan)
        last = max((each.moment for each in preparations), default=0)
        preparations += [replace(each, moment=each.moment + last) for each in manifest.preparations]
        for key, done in manifest.turns_done.items():
            turns[key] = turns.get(key, 0) + done
    return Manifest(
        schema=MERGED_SCHEMA,
        experiment=name,
        slowdust=__version__,
        driver=_common(manifest.driver for manifest in manifests),
        started=min(known(manifest.started for manifest in manifests), default=None),
        finished=None if None in ends else max(known(ends)),
        base=first.base,
        contenders=list(contenders.values()),
        tests=[*dict.fromkeys(test for manifest in manifests for test in manifest.tests)],
        clients=sorted({clients for manifest in manifests for clients in manifest.clients}),
        method=_method([manifest.method for manifest in manifests]),
        cpus=_common(manifest.cpus for manifest in manifests) or [],
        host={
            label: value
            for label, value in hosts[0].host.items()
            if all(host.host.get(label) == value for host in hosts)
        },
        findings=_findings(hosts),
        hosts=hosts,
        plans=list(plans.values()),
        warnings=_warnings(parts, hosts),
        settled=[
            key
            for key in dict.fromkeys(key for manifest in manifests for key in manifest.settled)
            if all(
                key in manifest.settled
                for manifest in manifests
                if key.rpartition("@")[0] in manifest.tests
            )
        ],
        turns_done=turns,
        spent_s=sum(manifest.spent_s for manifest in manifests),
        failed_steps=[each for manifest in manifests for each in manifest.failed_steps],
        workload=first.workload,
        preparations=preparations,
        recalls=[each for manifest in manifests for each in manifest.recalls],
        index_sizes=[each for manifest in manifests for each in manifest.index_sizes],
        counters=[each for manifest in manifests for each in manifest.counters],
        counting=_counting(manifests),
    )


def _counting(manifests: Sequence[Manifest]) -> Counting | None:
    """Return how work was counted in the first part with counts, else why it was not."""
    tried = known(manifest.counting for manifest in manifests)
    counted_in = [counting for counting in tried if counting.source is not None]
    return next(iter([*counted_in, *tried]), None)


def _common(values: Iterable[_Value]) -> _Value | None:
    """Return the common value; None if values differ."""
    first, *others = values
    return first if all(value == first for value in others) else None


def _method(methods: Sequence[Method]) -> Method:
    """Return the first method without properties that differ: seeds, slice lengths, budgets."""
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


def _findings(hosts: Sequence[HostFacts]) -> list[Finding]:
    """Return the findings of all hosts; findings that differ between hosts name their host."""
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


def _warnings(parts: Sequence[Records], hosts: Sequence[HostFacts]) -> list[str]:
    """Return the warnings of all parts, with host names unless all parts have the warning."""
    by_warning: dict[str, list[str]] = {}
    for part in parts:
        paths = {joined.path for host in part.hosts() for joined in host.parts}
        names = [host.name for host in hosts if any(each.path in paths for each in host.parts)]
        dropped_out = [
            f"{contender.name} dropped out: {contender.failed}"
            for contender in part.manifest.contenders
            if contender.failed
        ]
        for warning in (*part.manifest.warnings, *dropped_out):
            by_warning.setdefault(warning, []).append(listing(names))
    return [
        warning if len(of) == len(parts) else f"{listing([*dict.fromkeys(of)])}: {warning}"
        for warning, of in by_warning.items()
    ]
