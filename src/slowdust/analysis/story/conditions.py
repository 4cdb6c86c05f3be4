"""The conditions of an experiment in one sentence, without which its results say nothing.

They are clients, rows and MB beside the servers' cache, durability, what works in the background,
and the host. What differs between contenders is what is compared, and no condition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowdust.analysis.model import Noise
from slowdust.dbms import family_if_known
from slowdust.dbms.family import Commit
from slowdust.store.manifest import ContenderFacts, Manifest
from slowdust.units import known
from slowdust.wording import counted, listing, share, short_names, shortened

_MB = 1 << 20
_BUSY = 0.05
"""Share of the CPUs that others used, from which the host is called busy."""
_MOST_NAMED = 2
"""The most contenders that are named where only their commits wait for the disk."""


def conditions_of(manifest: Manifest, noise: Noise | None) -> str:
    """Return the sentence about what was measured."""
    contenders = manifest.contenders
    parts = [
        *_clients(manifest.clients),
        *_data(manifest),
        *_durability(contenders),
        *_background(contenders),
        *_host(manifest, noise),
    ]
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}." if parts else ""


def commits_waiting(contenders: Sequence[ContenderFacts]) -> dict[str, Commit]:
    """Return contender -> what its commits do; without those that have no disk to wait for.

    Empty where that of one of them is not known.
    """
    if any(each.running and not _tells_commits(each.dbms) for each in contenders):
        return {}
    commits = {
        each.name: known_family.commit(each.settings, each.engine)
        for each in contenders
        if (known_family := family_if_known(each.dbms)) is not None
    }
    return {name: commit for name, commit in commits.items() if commit is not None}


def _tells_commits(dbms: str) -> bool:
    known_family = family_if_known(dbms)
    by_url = None if known_family is None else known_family.by_url
    return by_url is None or by_url.settings_tell_commits


def _clients(levels: Sequence[int]) -> list[str]:
    if not levels:
        return []
    if len(levels) == 1:
        return [counted(levels[0], "client")]
    return [f"{listing([*map(str, levels)])} clients"]


def _data(manifest: Manifest) -> list[str]:
    """Return '100,000 rows, 24 MB with indexes, in a cache of 128 MB'."""
    method = manifest.method
    parts = []
    if method.steps is not None:
        parts.append(f"workload {method.steps.workload}")
    elif manifest.workload is not None:
        tables = counted(len(manifest.workload.rows), "table")
        rows = counted(sum(manifest.workload.rows.values()), "row")
        parts.append(f"workload {manifest.workload.name}, {tables} with {rows}")
    elif method.data is not None:
        parts.append(method.data)
    elif method.rows is not None:
        tables = counted(method.tables, "table") if method.tables else ""
        rows = counted(method.rows, "row")
        parts.append(f"{tables} of {rows}" if tables else rows)
    sizes = known(
        None if each.table_bytes is None else each.table_bytes + (each.index_bytes or 0)
        for each in manifest.contenders
    )
    if sizes:
        parts.append(f"{_megabytes(sizes)} with indexes")
    caches = known(each.buffer_pool_bytes for each in manifest.contenders)
    if caches:
        parts.append(f"a cache of {_megabytes(caches)}")
    if method.memory_bytes is not None:
        parts.append(f"memory limited to {_megabytes([method.memory_bytes])}")
    return [", ".join(parts)] if parts else []


def _megabytes(sizes: Sequence[int]) -> str:
    """Return '24 MB', or '24 to 31 MB' where contenders differ."""
    low, high = (
        f"{size / _MB:,.0f}" if size >= _MB else f"{size / _MB:.1g}"
        for size in (min(sizes), max(sizes))
    )
    return f"{low} MB" if low == high else f"{low} to {high} MB"


def _durability(contenders: Sequence[ContenderFacts]) -> list[str]:
    commits = commits_waiting(contenders)
    names = short_names([each.name for each in contenders])
    waiting = [names[name] for name, commit in commits.items() if commit.waits_for_disk]
    if not commits:
        return []
    if len(waiting) == len(commits):
        return ["each commit waits for the disk"]
    settings = dict.fromkeys(c.setting for c in commits.values() if not c.waits_for_disk)
    if not waiting:
        return [f"no commit waits for the disk ({shortened([*settings])})"]
    few = len(waiting) <= _MOST_NAMED
    where = listing(waiting) if few else f"{len(waiting)} of {len(commits)} contenders"
    return [f"commits wait for the disk on {where}, on no other ({shortened([*settings])})"]


def _background(contenders: Sequence[ContenderFacts]) -> list[str]:
    """Return 'autovacuum=off' and its like, as far as all contenders that have them are alike."""
    values: dict[str, set[str]] = {}
    for contender in contenders:
        known_family = family_if_known(contender.dbms)
        for name in () if known_family is None else known_family.background_settings:
            if name in contender.settings:
                values.setdefault(name, set()).add(contender.settings[name])
    return [f"{name}={next(iter(given))}" for name, given in values.items() if len(given) == 1]


def _hosts(manifest: Manifest) -> str:
    """Return '3 hosts (2 CPUs each, Xeon)', or the hosts of each model of CPU."""
    groups: dict[str, list[int]] = {}
    for host in manifest.hosts:
        groups.setdefault(host.group, []).append(len(host.cpus))
    if len(groups) > 1:
        parts = [f"{len(cpus)} of {group}" for group, cpus in groups.items()]
        return f"{len(manifest.hosts)} hosts: {listing(parts)}"
    [(group, cpus)] = groups.items()
    alike = len(set(cpus)) == 1 and cpus[0]
    each = " each" if len(cpus) > 1 else ""
    size = f"{counted(cpus[0], 'CPU')}{each}, " if alike else ""
    return f"{counted(len(manifest.hosts), 'host')} ({size}{group})"


def _host(manifest: Manifest, noise: Noise | None) -> list[str]:
    """Return the CPUs, and how much of them others used."""
    host: Mapping[str, str] = manifest.host
    if manifest.hosts:
        return [_hosts(manifest)]
    cpus = counted(len(manifest.cpus), "CPU") if manifest.cpus else ""
    model = f"({host['CPU']})" if "CPU" in host else ""
    text = " ".join(filter(None, (cpus, model)))
    if not text:
        return []
    if host.get("Virtual machine") == "yes":
        text += ", virtual"
    busy = 0.0 if noise is None else (noise.other_cpu or 0.0) + (noise.steal or 0.0)
    return [f"{text}, {share(busy)} used by others" if busy >= _BUSY else text]
