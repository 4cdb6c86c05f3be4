"""The growth of builds from version to version."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from slowdust.store.sizes import BuildSizes, TreeSizes


class Growth(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Sizes of a build relative to the previous version's; a ratio of 1 is no growth."""

    before: str
    """The previous version."""
    same_source: bool
    """Whether both have the same publisher: otherwise they may be compiled differently."""
    stripped: float
    code: float
    data: float
    functions: float | None = None
    """The ratio of the numbers of functions; absent if either binary is stripped."""


class SizedBuild(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A build with its growth."""

    sizes: BuildSizes
    growth: Growth | None = None
    """Growth since the previous version; absent for a DBMS's first version."""


class SizesReport(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Sizes of builds, by DBMS in the order of versions, and of build trees."""

    schema: int = 1
    builds: list[SizedBuild] = []
    trees: list[TreeSizes] = []


def report_of(builds: Sequence[BuildSizes], trees: Sequence[TreeSizes] = ()) -> SizesReport:
    latest: dict[str, BuildSizes] = {}
    sized = []
    for sizes in builds:
        before = latest.get(sizes.dbms)
        growth = None if before is None else _growth(before, sizes)
        sized.append(SizedBuild(sizes=sizes, growth=growth))
        latest[sizes.dbms] = sizes
    return SizesReport(builds=sized, trees=list(trees))


def _growth(before: BuildSizes, now: BuildSizes) -> Growth:
    functions = None
    if before.server.functions and now.server.functions:
        functions = now.server.functions / before.server.functions
    return Growth(
        before=before.version,
        same_source=_publisher(before) == _publisher(now),
        stripped=now.server.stripped_bytes / before.server.stripped_bytes,
        code=now.server.code_bytes / before.server.code_bytes,
        data=now.server.data_bytes / before.server.data_bytes,
        functions=functions,
    )


def _publisher(sizes: BuildSizes) -> str:
    """Return the kind of source and its package, without versions: 'maven group:artifact'."""
    kind, _, rest = sizes.source.partition(" ")
    if kind in ("npm", "maven"):
        return f"{kind} {rest.rpartition('@' if kind == 'npm' else ':')[0]}"
    return kind
