"""Options of `slowdust compare` that say what work a specification measures."""

from __future__ import annotations

from collections.abc import Mapping

from slowdust.benchmarks.options import Option, Table
from slowdust.experiment.spec.spec import Spec

_PLAIN = ("tables", "memory", "pool", "seed", "repo")
"""Keys whose values are typed as they are."""


def work_options(spec: Spec) -> dict[str, str | bool | list[str]] | None:
    """Return the options by parameter, as `command_line` takes them.

    Tests, contenders and the user's own workload are not among them, and neither is what has its
    default: an experiment has a copy of its workload, and a command names tests of its own. None
    where a contender has a name or settings of its own, which a command line cannot say.
    """
    if any(each.name or each.set or each.matrix or each.slowed for each in spec.contenders):
        return None
    benchmark = spec.configured_benchmark()
    options: dict[str, str | bool | list[str]] = {}
    if spec.workload is None and spec.benchmark != Spec.model_fields["benchmark"].default:
        options["benchmark"] = spec.benchmark
    if spec.clients != Spec.model_fields["clients"].default:
        options["clients"] = ",".join(map(str, spec.clients))
    usual_rows = benchmark.usual_rows(None) or Spec.model_fields["rows"].default
    if "rows" not in benchmark.unused_keys and spec.rows != usual_rows:
        options["rows"] = str(spec.rows)
    for key in _PLAIN:
        value = getattr(spec, key)
        if key not in benchmark.unused_keys and value != Spec.model_fields[key].default:
            options[key] = str(value)
    if spec.rate is not None:
        options |= {"rate": f"{spec.rate.per_second:g}", "arrivals": spec.rate.arrivals}
    if spec.cpus is not None:
        options["cpus"] = ",".join(map(str, spec.cpus))
    table = getattr(spec, benchmark.name, None)
    if isinstance(table, Table):
        for option in benchmark.options:
            if (value := _own_value(option, table)) is not None:
                options[option.parameter] = value
    if spec.set:
        options["set"] = [f"{name}={value}" for name, value in spec.set.items()]
    return options


def _own_value(option: Option, table: Table) -> str | bool | None:
    """Return the value of a benchmark's own option; None where it is the default."""
    if option.sets is not None:
        key, value = option.sets
        return True if getattr(table, key, None) == value else None
    if option.parameter not in type(table).model_fields:
        return None
    dumped: Mapping[str, object] = table.model_dump(mode="json", exclude_defaults=True)
    given = dumped.get(option.parameter)
    if isinstance(given, list):
        return ",".join(map(str, given))
    return None if given is None else str(given)
