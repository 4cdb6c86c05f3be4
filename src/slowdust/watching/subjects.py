"""The subjects of a watch: the releases of a catalog, or the commits that a ref comes to."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.bisection.candidates import Candidate
from slowdust.bisection.ranges import at_commit, committed, parse_range, released
from slowdust.builds.model import Progress
from slowdust.builds.revisions.repository import newest_commit
from slowdust.errors import UsageError
from slowdust.experiment.spec.contender_name import ContenderName, parse_contender
from slowdust.watching.file import Watch, WatchTable
from slowdust.watching.series import Night


def check_same_watch(watch: Watch, nights: Sequence[Night]) -> None:
    """Refuse to go on with nights of another DBMS, engine, config or environment.

    Raises:
        UsageError: they are of another one, so that no level can be compared.
    """
    if not nights:
        return
    before = parse_contender(nights[-1].plan.subject.contender)
    table = watch.table
    text = table.dbms if table.releases is None else table.releases
    match = parse_range(text or "")
    now = parse_contender(f"{match['dbms']}@{before.version}{match['rest']}")
    if _kind(before) != _kind(now):
        raise UsageError(
            f"{watch.origin.name(('watch', 'name'))}: the watch '{table.name}' has nights of "
            f"{before.text}, which is of another kind: choose another name"
        )


def _kind(name: ContenderName) -> tuple[object, ...]:
    """Return all of a contender but its version."""
    return name.dbms, name.engine, name.config, name.environment, name.flags


def base_of(table: WatchTable) -> str:
    """Return the base: that of the file, or the first release."""
    if table.base is not None:
        return table.base
    assert table.releases is not None
    return released(table.releases).listed[0].contender


def new_subject(
    table: WatchTable, measured: Sequence[Candidate], progress: Progress
) -> Candidate | None:
    """Return the subject that is to be measured; None where nothing is new.

    That is the newest one, or with `each` the oldest that was not measured: of a branch the one
    behind the last that was.

    Raises:
        UsageError: there is no such release or commit.
    """
    if table.releases is not None:
        return _new_release(table, table.releases, measured)
    assert table.repo is not None and table.dbms is not None and table.ref is not None
    match = parse_range(table.dbms)
    newest = at_commit(match, newest_commit(table.repo, table.ref, progress))
    if any(each.commit == newest.commit for each in measured):
        return None
    if not table.each or not measured:
        return newest
    try:
        last = measured[-1].commit or ""
        return committed(table.dbms, table.repo, last, newest.commit or "", progress).listed[1]
    except UsageError:  # the ref was set to another history
        return newest


def _new_release(table: WatchTable, range_: str, measured: Sequence[Candidate]) -> Candidate | None:
    base, known = base_of(table), {each.contender for each in measured}
    listed = [each for each in released(range_).listed if each.contender != base]
    # A release of an older series that comes late is no successor of the last good one.
    last = max((n for n, each in enumerate(listed) if each.contender in known), default=-1)
    left = listed[last + 1 :]
    if not left:
        return None
    return left[0] if table.each else left[-1]


def first_good(table: WatchTable) -> Candidate | None:
    """Return the last good subject of a first night: the base, where it is a release of the range.

    The commits of a branch have none: how it compares with the base is no change of it.
    """
    if table.releases is None:
        return None
    base = base_of(table)
    return next((each for each in released(table.releases).listed if each.contender == base), None)


def between(table: WatchTable, before: Candidate, after: Candidate, progress: Progress) -> int:
    """Return how many steps from one subject to another there are: 1 where nothing is between.

    Raises:
        UsageError: the second does not come after the first.
    """
    if table.releases is not None:
        names = [each.contender for each in released(table.releases).listed]
        return names.index(after.contender) - names.index(before.contender)
    assert table.repo is not None and table.dbms is not None
    ends = (before.commit or "", after.commit or "")
    return len(committed(table.dbms, table.repo, *ends, progress).listed) - 1
