"""Circumstances that experiments must have in common for their ratios to be put together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slowdust.store.manifest import Manifest, StepsMethod
from slowdust.wording import counted, listing

SAME_HOST = (
    "host", "CPUs", "CPU", "Cores", "SMT", "Memory", "Virtual machine", "Filesystem", "Device",
)  # fmt: skip
"""Facts that make two experiments' hosts the same: the machine and where its data are.

Archives have at most the first two: the name that iostat printed, and the number of CPUs that the
client printed or that follows from its tables. A number of CPUs alone is no identity.
Memory counts in whole GiB: kernels keep a little more or less of it for themselves. What a
machine's owner may change between two experiments (kernel, governor, huge pages, mount options)
makes no other host, since no rate is compared across experiments; a note says what differs.
"""
NOTED_IF_DIFFERENT = (
    "Kernel", "kernel", "Operating system", "Governor", "Turbo", "Transparent huge pages", "Swap",
    "Mounted",
)  # fmt: skip
UNRECORDED = "unrecorded"
"""The user's word for the host of experiments that do not say where they ran."""
_AMOUNT = re.compile(r"(?P<number>[\d.]+) (?P<unit>[KMGT]i?B)")
_MB = 1 << 20


@dataclass(frozen=True)
class Circumstances:
    """A benchmark on a host with an amount of data: the subject of one history."""

    benchmark: str
    host: tuple[tuple[str, str], ...]
    """Label and value of its facts; empty where it was not recorded."""
    data: str
    """Tables and rows, or the workload; empty where it was not recorded."""
    only_experiment: str = ""
    """The only experiment it is about, if that does not say on which host it ran."""


def circumstances_of(manifest: Manifest, benchmark: str) -> Circumstances:
    host = _where(manifest)
    only_experiment = "" if host else manifest.experiment
    return Circumstances(benchmark, host, _data_of(manifest), only_experiment)


def _where(manifest: Manifest) -> tuple[tuple[str, str], ...]:
    """Return what identifies the host, or of a joined experiment the set of its hosts."""
    if not manifest.hosts:
        return host_of(manifest.host)
    return (("Hosts", hosts_in_words(manifest)),)


def hosts_in_words(manifest: Manifest) -> str:
    """Return the hosts of a joined experiment in any order that they were joined in."""
    return ", ".join(sorted(f"{host.name} ({host.group})" for host in manifest.hosts))


def host_of(facts: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the facts that identify the host; empty with neither a CPU nor a name."""
    if not {"CPU", "host"} & facts.keys():
        return ()
    return tuple(
        (label, normalised_fact(label, facts[label])) for label in SAME_HOST if label in facts
    )


def normalised_fact(label: str, value: str) -> str:
    """Return a fact's value without what is never twice the same: memory is in whole units."""
    if label != "Memory" or (amount := _AMOUNT.match(value)) is None:
        return value
    return f"{float(amount['number']):.0f} {amount['unit']}"


def is_host(manifest: Manifest, wanted: str) -> bool:
    """Return whether all the user's words are in the facts of this experiment's host."""
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
