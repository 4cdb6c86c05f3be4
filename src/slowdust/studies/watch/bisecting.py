"""The command that finds a change among the subjects with which it may have come."""

from __future__ import annotations

from slowdust.analysis.results.log_ratio import TIME
from slowdust.builds.model import Progress
from slowdust.commands import command_line
from slowdust.errors import SlowdustError
from slowdust.experiment.spec.spec import Spec
from slowdust.studies.watch.alarms import Change
from slowdust.studies.watch.file import Watch
from slowdust.studies.watch.subjects import between

_PASSED_ON = ("benchmark", "workload", "rows", "cpus", "seed")
"""Keys of an experiment file that `slowdust bisect` has, too."""
_NOT_PASSED_ON = ("pool", "memory", "tables", "rate")
"""Keys that results depend on, and that it has not: then no command is given."""


def command_for(watch: Watch, change: Change, progress: Progress) -> str:
    """Return the command; empty where the change came with one subject, or is no range."""
    table, before, after = watch.table, change.before, change.subject
    if any(key in watch.data for key in _NOT_PASSED_ON):
        return ""
    try:
        if between(table, before, after, progress) < 2:
            return ""
    except (SlowdustError, ValueError):  # a branch that was set to another history
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
