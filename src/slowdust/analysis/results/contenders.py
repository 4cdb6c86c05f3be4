"""Contenders and method as a report lists them: settings and their differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from slowdust.analysis.model import ContenderInfo, Memory, Result
from slowdust.store.manifest import (
    ContenderFacts,
    Counting,
    Imported,
    Manifest,
    Method,
    StepsMethod,
    WorkloadFacts,
)
from slowdust.store.slice import Slice
from slowdust.units import known
from slowdust.wording import listing

NOT_SET = "(not set)"
_CHOSEN = "chosen from the drift of this machine"
_MB = 1 << 20
_BYTES_PER_GB = 1 << 30
_NUMBERS = {"compat": "as published, to the last digit", "clean": "without known errors"}
"""Mode of an import -> its numbers, in words."""


def contender_info(facts: ContenderFacts, base: ContenderFacts) -> ContenderInfo:
    """Return the facts about a contender, with the settings that differ from the base's."""
    names = [*base.settings, *(name for name in facts.settings if name not in base.settings)]
    return ContenderInfo(
        name=facts.name,
        dbms=facts.dbms,
        version=facts.build.version,
        source=facts.build.source,
        sha256=facts.build.sha256,
        binary_bytes=facts.build.binary_bytes,
        stripped_bytes=facts.build.stripped_bytes,
        config=facts.config,
        settings=facts.settings,
        differing={
            name: facts.settings.get(name, NOT_SET)
            for name in names
            if facts.settings.get(name) != base.settings.get(name)
        },
        settings_in_force=facts.settings_in_force,
        skipped_settings=facts.skipped_settings,
        engine=facts.engine,
        environment=facts.environment,
        allocator=facts.allocator,
        buffer_pool_bytes=facts.buffer_pool_bytes,
        failed=facts.failed,
        untold=facts.untold,
        data_bytes=facts.data_bytes,
        running=facts.running,
        round_trip_us=None if facts.round_trip_s is None else facts.round_trip_s * 1e6,
    )


def unknown_settings(infos: Sequence[ContenderInfo]) -> list[str]:
    skipped: dict[str, set[str]] = {}
    for info in infos:
        skipped.setdefault(f"{info.dbms} {info.version}", set()).update(info.skipped_settings)
    return [
        f"{version} does not know {listing(sorted(names))}: skipped."
        for version, names in skipped.items()
        if names
    ]


def describe_method(manifest: Manifest) -> dict[str, str]:
    """Return how the experiment was measured: label -> value, ready to print."""
    method = manifest.method
    return {
        **_import(manifest.imported),
        **_workload(manifest.workload),
        **(_slices(method) if method.steps is None else _steps(method.steps, manifest)),
        **_known_value("budget", method.budget_s or None, "g", " s"),
        "clients": ", ".join(map(str, manifest.clients)),
        **_memory(method),
        **_pool(method),
        **({"incarnations": str(method.incarnations)} if manifest.imported is None else {}),
        "margin": ", ".join(
            [f"{method.margin:.1%}", *(f"{k} {v:.1%}" for k, v in method.own_margins.items())]
        ),
        **({"work": work} if (work := describe_work(manifest.counting)) else {}),
        **_known_value("seed", method.seed, "d"),
        "slowdust": manifest.slowdust,
        **({"driver": manifest.driver} if manifest.driver else {}),
    }


def describe_work(counting: Counting | None) -> str | None:
    """Return how work was counted, or why it was not and how to enable it.

    None for an experiment that did not try.
    """
    if counting is None:
        return None
    why = f". {counting.reason}" if counting.reason else ""
    if counting.source is not None:
        counter = counting.version or counting.source
        return f"instructions per operation, counted by {counter}{why}"
    remedy = f" To enable it: {counting.remedy}" if counting.remedy else ""
    return f"not counted{why}{remedy}"


def _import(source: Imported | None) -> dict[str, str]:
    if source is None:
        return {}
    return {
        "archived run of": source.kind,
        "imported from": source.source,
        "numbers": _NUMBERS.get(source.mode, source.mode),
        **({"device": source.device} if source.device else {}),
    }


def _workload(workload: WorkloadFacts | None) -> dict[str, str]:
    if workload is None:
        return {}
    rows = ", ".join(f"{table} {rows:,}" for table, rows in workload.rows.items())
    return {"workload": f"{workload.name} ({workload.sha256[:10]})", "rows of its tables": rows}


def _slices(method: Method) -> dict[str, str]:
    return {
        **_known_value("data", method.data, "s"),
        **_known_value("tables", method.tables, "d"),
        **_known_value("rows per table", method.rows, ",d"),
        **_known_value("slice", method.slice_s, "g", " s"),
        **_chosen_lengths(method.slice_lengths),
        **_known_value("discarded before each slice", method.discard_s, "g", " s"),
    }


def _memory(method: Method) -> dict[str, str]:
    if method.memory_bytes is None:
        return {}
    size = f"{method.memory_bytes / _MB:,.0f} MB, including its files in the kernel's cache"
    return {"memory of each server": size}


def _pool(method: Method) -> dict[str, str]:
    if method.pool_bytes is None:
        return {}
    size = f"{method.pool_bytes / _MB:,.0f} MB, as requested"
    if method.steps is None:
        size += "; the kernel's cache of the data is dropped before each slice"
    return {"page cache of each server": size}


def _chosen_lengths(lengths: Mapping[str, float]) -> dict[str, str]:
    if not lengths:
        return {}
    (usual, _), *others = Counter(lengths.values()).most_common()
    by_test = (
        f"{listing([key.removesuffix('@1') for key in lengths if lengths[key] == length])} "
        f"{length:g} s"
        for length, _ in others
    )
    return {"slice": f"{'; '.join([f'{usual:g} s', *by_test])} ({_CHOSEN})"}


def _known_value(
    label: str, value: float | str | None, form: str, unit: str = ""
) -> dict[str, str]:
    return {} if value is None else {label: f"{value:{form}}{unit}"}


def _turns(method: StepsMethod, manifest: Manifest) -> str:
    if method.turns == "whole-steps":
        return "after each step"
    if method.turns != "chunks":
        return method.turns
    but = (
        ", except those that were already running"
        if any(c.running for c in manifest.contenders)
        else ""
    )
    return f"after each chunk of a step; the other servers are suspended{but}"


def _steps(method: StepsMethod, manifest: Manifest) -> dict[str, str]:
    facts = {
        "workload": method.workload,
        "rows inserted by each client": _by_step(method.rows),
        "rows per commit": _by_step(method.rows_per_commit),
        "steps with queries": f"{method.seconds:g} s",
        "tables": "one for all clients" if method.shared_table else "one for each client",
        "statements": method.statements,
        "turns": _turns(method, manifest),
    }
    if method.partitions:
        facts["partitions of each table"] = str(method.partitions)
    if method.holds_s:
        held = ", ".join(f"{hold:g} s" if hold else "none" for hold in method.holds_s)
        facts["transactions held open concurrently"] = f"{held} (a sequence of steps each)"
    return facts


def _by_step(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{step} {count:,}" for step, count in counts.items())


def peak_gb(slices: Sequence[Slice], quantity: str) -> float | None:
    sizes = known(record.measured.used("server", quantity) for record in slices)
    return max(sizes) / _BYTES_PER_GB if sizes else None


def compare_memory(results: Sequence[Result], infos: Sequence[ContenderInfo]) -> list[Memory]:
    """Return an entry for each contender with a result; empty if all of these allocate alike.

    The base is the first of `infos`.
    """
    measured = {result.contender for result in results}
    present = [info for info in infos if info.name in measured]
    if len({(info.engine, info.allocator, *info.environment) for info in present}) < 2:
        return []
    return [
        _memory_of(info, [r for r in results if r.contender == info.name], infos[0].name)
        for info in present
    ]


def _memory_of(info: ContenderInfo, results: Sequence[Result], base: str) -> Memory:
    ratios = [r.ratio.value for r in results if r.contender != base and r.ratio is not None]
    rss = _peak(results, lambda result: result.peak_rss_gb)
    pool = None if info.buffer_pool_bytes is None else info.buffer_pool_bytes / _BYTES_PER_GB
    return Memory(
        contender=info.name,
        rqps_median=median(ratios) if ratios else None,
        rqps_lowest=min(ratios, default=None),
        rqps_highest=max(ratios, default=None),
        peak_vsz_gb=_peak(results, lambda result: result.peak_vsz_gb),
        peak_rss_gb=rss,
        buffer_pool_gb=pool,
        rss_per_buffer_pool=rss / pool if rss is not None and pool else None,
    )


def _peak(results: Sequence[Result], read: Callable[[Result], float | None]) -> float | None:
    return max(known(map(read, results)), default=None)
