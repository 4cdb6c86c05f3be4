"""The subjects of a watch: the releases of a catalog, or the commits of a ref."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.analysis.results.log_ratio import TIME
from slowdust.builds.model import Progress
from slowdust.builds.revisions import newest_commit
from slowdust.commands import command_line
from slowdust.errors import SlowdustError, UsageError
from slowdust.experiment.spec.contenders import ContenderName, parse_contender
from slowdust.experiment.spec.spec import Spec
from slowdust.studies.candidates import Candidate, at_commit, committed, parse_range, released
from slowdust.studies.watch.alarms import Change
from slowdust.studies.watch.file import Watch, WatchTable
from slowdust.studies.watch.series import Night

_PASSED_ON = ("benchmark", "workload", "rows", "cpus", "seed")
"""Keys of an experiment file that `slowdust bisect` has too."""
_NOT_PASSED_ON = ("pool", "memory", "tables", "rate")
"""Keys that affect results and that `bisect` lacks: with them no command is suggested."""


def check_same_watch(watch: Watch, nights: Sequence[Night]) -> None:
    """Check that earlier nights have the same DBMS, engine, config and environment.

    Raises:
        UsageError: they differ, so that levels cannot be compared.
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
            f"{watch.origin(('watch', 'name'))}: earlier nights of '{table.name}' measured "
            f"{before.text}, with another DBMS, engine, config or environment: choose another name"
        )


def _kind(name: ContenderName) -> tuple[object, ...]:
    """Return the parts of a contender except its version."""
    return name.dbms, name.engine, name.config, name.environment, name.flags


def choose_base(table: WatchTable) -> str:
    """Return the base of the file, or else the first release."""
    if table.base is not None:
        return table.base
    assert table.releases is not None
    return released(table.releases).listed[0].contender


def new_subject(
    table: WatchTable, measured: Sequence[Candidate], progress: Progress
) -> Candidate | None:
    """Return the subject to measure; None if nothing is new.

    It is the newest one, or with `each` the oldest one that was not measured; for a branch, the
    commit after the last one that was.

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
    except UsageError:  # the branch was rewritten
        return newest


def _new_release(table: WatchTable, range_: str, measured: Sequence[Candidate]) -> Candidate | None:
    base, known = choose_base(table), {each.contender for each in measured}
    listed = [each for each in released(range_).listed if each.contender != base]
    # A late release of an older series does not follow the last good one.
    last = max((n for n, each in enumerate(listed) if each.contender in known), default=-1)
    left = listed[last + 1 :]
    if not left:
        return None
    return left[0] if table.each else left[-1]


def first_good(table: WatchTable) -> Candidate | None:
    """Return the last good subject of a first night: the base, if it is a release of the range.

    A branch has none: the difference between a branch and the base is not a change of the branch.
    """
    if table.releases is None:
        return None
    base = choose_base(table)
    return next((each for each in released(table.releases).listed if each.contender == base), None)


def between(table: WatchTable, before: Candidate, after: Candidate, progress: Progress) -> int:
    """Return the number of steps from one subject to another: 1 for neighbours.

    Raises:
        UsageError: the second does not come after the first.
    """
    if table.releases is not None:
        names = [each.contender for each in released(table.releases).listed]
        return names.index(after.contender) - names.index(before.contender)
    assert table.repo is not None and table.dbms is not None
    ends = (before.commit or "", after.commit or "")
    return len(committed(table.dbms, table.repo, *ends, progress).listed) - 1


def bisect_command(watch: Watch, change: Change, progress: Progress) -> str:
    """Return the command that finds a change among the subjects that may have caused it.

    Empty if only one subject may have, or if no command would measure the same.
    """
    table, before, after = watch.table, change.before, change.subject
    if any(key in watch.data for key in _NOT_PASSED_ON):
        return ""
    try:
        if between(table, before, after, progress) < 2:
            return ""
    except (SlowdustError, ValueError):  # the branch was rewritten
        return ""
    words = ["bisect"]
    options: dict[str, object] = {"test": change.test}
    if table.releases is not None:
        head, _, rest = after.contender.partition("@")
        words.append(f"{head}@{before.name}..{rest}")
    else:
        assert table.dbms is not None and table.repo is not None
        words.append(table.dbms)
        options = {"repo": table.repo, "good": before.name, "bad": after.name, **options}
    options["metric"] = TIME if change.metric == TIME else None
    options["clients"] = change.clients if change.clients > 1 else None
    given = {"rows": Spec.model_fields["rows"].default, **watch.data}
    for key in _PASSED_ON:
        if key in given:
            value = given[key]
            options[key] = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    settings = watch.data.get("set")
    if isinstance(settings, dict):
        options["set"] = [f"{key}={value}" for key, value in settings.items()]
    return command_line(words, options)
