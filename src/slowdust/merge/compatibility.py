"""What parts must have in common to be one experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from slowdust.errors import UsageError
from slowdust.merge.sources import Records
from slowdust.store.manifest import BuildFacts, ContenderFacts, Manifest

_METHOD = {
    "margin": "the margin",
    "own_margins": "the margins of single tests",
    "tables": "the number of tables",
    "rows": "the number of rows",
    "data": "the data",
    "rate": "the rate",
    "arrivals": "the arrivals",
    "memory_bytes": "the limit of memory, in bytes",
    "pool_bytes": "the page cache, in bytes",
    "steps": "the method of long steps",
}
"""Fields of the method that must agree -> their names. Lengths of slices, budgets and incarnations
may differ: each ratio is of slices of one host, beside each other."""


def check_compatibility(parts: Sequence[Records]) -> None:
    """Refuse parts that measured different things under the same names.

    Raises:
        UsageError: names the first difference, in one line.
    """
    first = parts[0]
    for part in parts[1:]:
        for what, ours, theirs in _compared(first, part):
            if ours != theirs:
                raise _differ(first, part, what, ours, theirs)
    seen: dict[str, tuple[Records, ContenderFacts]] = {}
    for part in parts:
        for contender in part.manifest.contenders:
            earlier, facts = seen.setdefault(contender.name, (part, contender))
            for what, ours, theirs in _compared_contenders(facts, contender):
                if ours != theirs:
                    raise _differ(earlier, part, f"{what} of {contender.name}", ours, theirs)


def _differ(first: Records, second: Records, what: str, ours: object, theirs: object) -> UsageError:
    return UsageError(
        f"'{first.label}' and '{second.label}' differ in {what}: {_text(ours)} and {_text(theirs)}"
    )


def _text(value: object) -> str:
    return "none" if value is None else str(value)


_Difference = tuple[str, object, object]


def _compared(first: Records, second: Records) -> Iterator[_Difference]:
    """Yield what two parts must have in common: its name, and the value of each."""
    ours, theirs = first.manifest, second.manifest
    yield "the base", ours.base, theirs.base
    yield "the workload", _workload(ours), _workload(theirs)
    if first.slices and second.slices:
        yield "the benchmark", _benchmarks(first), _benchmarks(second)
    for field, name in _METHOD.items():
        yield name, getattr(ours.method, field), getattr(theirs.method, field)


def _benchmarks(part: Records) -> str:
    return ", ".join(sorted({record.place.benchmark for record in part.slices}))


def _workload(manifest: Manifest) -> str | None:
    workload = manifest.workload
    return None if workload is None else f"{workload.name} ({workload.sha256[:16]})"


def _compared_contenders(ours: ContenderFacts, theirs: ContenderFacts) -> Iterator[_Difference]:
    """Yield what a contender must be in all parts that have it."""
    yield "the DBMS", ours.dbms, theirs.dbms
    yield "the build", *_builds(ours.build, theirs.build)
    yield "the engine", ours.engine, theirs.engine
    yield "the config", ours.config, theirs.config
    yield from _settings(ours.settings, theirs.settings)
    yield "the environment", ours.environment, theirs.environment
    if ours.allocator_sha256 and theirs.allocator_sha256:
        yield "the malloc library", ours.allocator_sha256[:16], theirs.allocator_sha256[:16]


def _settings(ours: Mapping[str, str], theirs: Mapping[str, str]) -> Iterator[_Difference]:
    for name in dict.fromkeys((*ours, *theirs)):
        yield f"the setting {name}", ours.get(name), theirs.get(name)


def _builds(ours: BuildFacts, theirs: BuildFacts) -> tuple[str, str]:
    """Return what tells two builds apart: of compiled ones, their content and how it was compiled.

    Compilers do not write the same bytes on every machine.
    """
    if ours.compiled is not None and theirs.compiled is not None:
        first, second = (
            f"{each.content[:16]} by {each.compiler}, {' '.join(each.options)}"
            for each in (ours.compiled, theirs.compiled)
        )
    elif ours.sha256 and theirs.sha256:
        first, second = f"sha256 {ours.sha256[:16]}", f"sha256 {theirs.sha256[:16]}"
    else:
        first, second = ours.version, theirs.version
    return first, second
