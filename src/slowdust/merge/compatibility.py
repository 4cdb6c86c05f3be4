"""Conditions for merging experiments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slowdust.errors import UsageError
from slowdust.merge.sources import Records
from slowdust.store.manifest import BuildFacts, ContenderFacts, Manifest

_METHOD = {
    "margin": "the margin",
    "own_margins": "the margins of tests",
    "tables": "the number of tables",
    "rows": "the number of rows",
    "data": "the data",
    "rate": "the rate",
    "arrivals": "the arrivals",
    "memory_bytes": "the limit of memory, in bytes",
    "pool_bytes": "the page cache, in bytes",
    "steps": "the method of long steps",
}
"""Fields of the method that must agree -> their names. Lengths of slices, budgets and numbers of
starts may differ: each ratio is between slices of one host."""


_Differences = Iterator[tuple[str, object, object]]
"""Names of properties, each with the values of two parts."""


def check_compatibility(parts: Sequence[Records]) -> None:
    """Refuse parts that measured different things under the same names.

    Raises:
        UsageError: the first difference, in one line.
    """

    def refuse_difference(first: Records, second: Records, of: str, compared: _Differences) -> None:
        for what, *values in compared:
            if values[0] != values[1]:
                ours, theirs = ("none" if value is None else value for value in values)
                raise UsageError(
                    f"'{first.label}' and '{second.label}' differ in {what}{of}: {ours} and "
                    f"{theirs}"
                )

    for part in parts[1:]:
        refuse_difference(parts[0], part, "", _compared(parts[0], part))
    seen: dict[str, tuple[Records, ContenderFacts]] = {}
    for part in parts:
        for contender in part.manifest.contenders:
            earlier, facts = seen.setdefault(contender.name, (part, contender))
            of = f" of {contender.name}"
            refuse_difference(earlier, part, of, _compared_contenders(facts, contender))


def _compared(first: Records, second: Records) -> _Differences:
    """Yield the properties that two parts must have in common."""

    def workload(manifest: Manifest) -> str | None:
        workload = manifest.workload
        return None if workload is None else f"{workload.name} ({workload.sha256[:16]})"

    def benchmarks(part: Records) -> str:
        return ", ".join(sorted({record.place.benchmark for record in part.slices}))

    ours, theirs = first.manifest, second.manifest
    yield "the base", ours.base, theirs.base
    yield "the workload", workload(ours), workload(theirs)
    if first.slices and second.slices:
        yield "the benchmark", benchmarks(first), benchmarks(second)
    for field, name in _METHOD.items():
        yield name, getattr(ours.method, field), getattr(theirs.method, field)


def _compared_contenders(ours: ContenderFacts, theirs: ContenderFacts) -> _Differences:
    """Yield the properties that a contender must have in all parts."""
    yield "the DBMS", ours.dbms, theirs.dbms
    yield "the build", *_builds(ours.build, theirs.build)
    yield "the engine", ours.engine, theirs.engine
    yield "the config", ours.config, theirs.config
    for name in dict.fromkeys((*ours.settings, *theirs.settings)):
        yield f"the setting {name}", ours.settings.get(name), theirs.settings.get(name)
    yield "the environment", ours.environment, theirs.environment
    if ours.allocator_sha256 and theirs.allocator_sha256:
        yield "the malloc library", ours.allocator_sha256[:16], theirs.allocator_sha256[:16]


def _builds(ours: BuildFacts, theirs: BuildFacts) -> tuple[str, str]:
    """Return what identifies two builds: for compiled builds their source and how it was compiled.

    Compilers do not produce the same bytes on every machine.
    """
    if ours.compiled is not None and theirs.compiled is not None:
        first, second = (
            f"{each.content[:16]} by {each.compiler}, {' '.join(each.options)}"
            for each in (ours.compiled, theirs.compiled)
        )
        return first, second
    if ours.sha256 and theirs.sha256:
        return f"sha256 {ours.sha256[:16]}", f"sha256 {theirs.sha256[:16]}"
    return ours.version, theirs.version
