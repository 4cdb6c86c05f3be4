"""Specifications from the options of `compare` and `calibrate`, and options from specifications."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from slowdust import benchmarks
from slowdust.benchmarks.model import Benchmark
from slowdust.benchmarks.options import Option, Table, read_number, read_numbers, split_list
from slowdust.dbms.settings import setting_name
from slowdust.errors import UsageError
from slowdust.experiment.engine.schedule import rounds
from slowdust.experiment.plan import plan
from slowdust.experiment.spec.spec import Spec, parse_spec
from slowdust.located_errors import at, in_options, placed
from slowdust.units import Second, parse_duration, parse_percentage
from slowdust.wording import listing

_PLAIN = (
    "suite", "benchmark", "tables", "budget", "slice", "incarnations", "seed", "name", "cpus",
    "workload", "count", "count_budget", "simulate", "profile", "waits", "keep", "memory", "pool",
    "repo", "patience",
)  # fmt: skip


def spec_from_options(contenders: Sequence[str], options: Mapping[str, object]) -> Spec:
    """Return the specification for the options of `compare`; None stands for a default.

    Raises:
        UsageError: names the wrong option.
    """
    with placed(in_options), at("benchmark"):
        benchmark = benchmarks.benchmark(str(options.get("benchmark") or benchmarks.DEFAULT.name))
    data: dict[str, object] = {"name": _name(contenders), "contenders": list(contenders)}
    if table := _own_table(benchmark, options):
        data[benchmark.name] = table
        options = {**options, **dict.fromkeys(option.parameter for option in benchmark.options)}
    data |= {key: options[key] for key in _PLAIN if options.get(key) is not None}
    data |= _tests_and_clients(options)
    if margin := options.get("margin"):
        try:
            data["margin"] = parse_percentage(str(margin))
        except ValueError as error:
            raise UsageError(f"--margin: {error}") from None
    if (rows := options.get("rows")) is not None:
        data["rows"] = read_number("--rows", str(rows))
    if (rate := options.get("rate")) is not None:
        data["rate"] = {"per_second": rate, "arrivals": options.get("arrivals") or "poisson"}
    elif options.get("arrivals"):
        raise UsageError("--arrivals needs --rate: it sets the distribution of an open loop")
    settings = options.get("settings")
    if isinstance(settings, Sequence):
        data |= _settings([str(pair) for pair in settings])
    if (flags := options.get("flags")) is not None:
        matrix = data.get("matrix", {})
        assert isinstance(matrix, Mapping)
        data["matrix"] = {**matrix, "flags": split_list(str(flags))}
    return parse_spec(data, in_options)


def _name(contenders: Sequence[str]) -> str:
    parts = [re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-._") for name in contenders]
    shown = "-vs-".join(dict.fromkeys(part for part in parts[:3] if part)) or "experiment"
    return f"{shown[:80]}-{datetime.now():%Y%m%d-%H%M%S}"


def _own_table(benchmark: Benchmark, options: Mapping[str, object]) -> dict[str, object]:
    """Return the benchmark's own table from the options; empty if none of them is given."""
    own = {option.parameter for option in benchmark.options}
    for option in (option for other in benchmarks.BENCHMARKS.values() for option in other.options):
        shared = option.parameter in own or option.parameter in Spec.model_fields
        if options.get(option.parameter) is not None and not shared:
            applying = [each.name for each in benchmarks.BENCHMARKS.values() if each.has(option)]
            noun = "benchmark" if len(applying) == 1 else "benchmarks"
            raise UsageError(
                f"{option.name} applies only to the {noun} {listing(applying, 'and')}: add "
                f"--benchmark {listing(applying, 'or')}"
            )
    return dict(
        option.item(given)
        for option in benchmark.options
        if (given := options.get(option.parameter)) is not None
    )


def _tests_and_clients(options: Mapping[str, object]) -> dict[str, object]:
    """Return the keys for --tests and --clients; empty without these options."""
    data: dict[str, object] = {}
    if (written := options.get("tests")) is not None:
        if options.get("suite") is not None:
            raise UsageError("--tests and --suite exclude each other: give one of them")
        data["tests"] = split_list(str(written))
        if not data["tests"]:
            raise UsageError(f"--tests {written}: name at least one test; see `slowdust tests`")
    if (clients := options.get("clients")) is not None:
        levels = data["clients"] = read_numbers("--clients", str(clients))
        if min(levels, default=1) < 1:
            raise UsageError(f"--clients {clients}: at least one client is needed")
    return data


def _settings(pairs: Sequence[str]) -> dict[str, object]:
    """Return the settings of all contenders; a setting with several values becomes an axis."""
    values: dict[str, list[str]] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--set {pair}: write KEY=VALUE")
        values.setdefault(setting_name(key.strip()), []).append(value.strip())
    return {
        "set": {key: given[0] for key, given in values.items() if len(given) == 1},
        "matrix": {key: given for key, given in values.items() if len(given) > 1},
    }


_WORK = ("tables", "memory", "pool", "seed", "repo")
"""Keys whose values are typed unchanged."""


def work_options(spec: Spec) -> dict[str, str | bool | list[str]] | None:
    """Return the options by parameter, as `command_line` takes them.

    Tests, contenders, the user's own workload and defaults are excluded: an experiment has a copy
    of its workload, and a command names its own tests. None if a contender has its own name or
    settings, which a command line cannot express.
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
    for key in _WORK:
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
    """Return the value of a benchmark's own option; None for the default."""
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


SUITE = "quick"
"""The suite of a calibration without --tests: five minutes are too short for a larger one."""
BUDGET = "5m"
TRIAL = "60s"
"""Measuring time of each contender in each test of a trial, if the budget allows it."""
SLOWED = "3,5,10"
NOT_SLOWED = "none"


def calibration_specs(contenders: Sequence[str], options: Mapping[str, str | None]) -> list[Spec]:
    """Return the experiments that calibrate the host, one for each contender.

    Each has its share of the budget, and spends it on as many whole trials as fit, at least one. A
    trial has as many starts as a comparison of that length. `options` are the options of
    `slowdust calibrate` by name; None stands for a default.

    Raises:
        UsageError: names the wrong option.
        UsageError: naming the option that is wrong.
    """
    shares = [0.0, 0.0, *_shares(options.get("slowed") or SLOWED)]
    budget = _seconds("--budget", options.get("budget") or BUDGET) / len(contenders)
    trial = _seconds("--trial", options.get("trial") or TRIAL)
    data: dict[str, object] = {"budget": budget, "suite": options.get("suite") or SUITE}
    data |= _tests_and_clients(options)
    data |= {key: options[key] for key in ("cpus", "patience") if options.get(key) is not None}
    for name in ("rows", "tables", "seed"):
        if (text := options.get(name)) is not None:
            data[name] = read_number(f"--{name}", text)
    specs = []
    for name, contender in zip(_names(contenders, options.get("name")), contenders, strict=True):
        own = {
            **data,
            "name": name,
            "contenders": [{"contender": contender, "slowed": share} for share in shares],
        }
        spec = parse_spec(own, in_options)
        steps = len(plan(spec))
        whole = steps * len(shares) * trial
        pair = 2 * min(trial, budget / len(shares) / steps) * steps
        together = rounds(pair, steps)
        trials = max(1, int(budget / whole))
        specs.append(
            parse_spec({**own, "trial": together, "incarnations": together * trials}, in_options)
        )
    return specs


def _names(contenders: Sequence[str], name: str | None) -> list[str]:
    name = f"calibration-{datetime.now():%Y%m%d-%H%M%S}" if name is None else name
    if len(contenders) == 1:
        return [name]
    parts = [re.sub(r"[^A-Za-z0-9._]+", "-", written).strip("-._") for written in contenders]
    if len(set(parts)) < len(parts):
        raise UsageError("a contender is given twice: a longer --budget measures it more often")
    return [f"{name}-{part}" for part in parts]


def _shares(text: str) -> list[float]:
    if text == NOT_SLOWED:
        return []
    example = f"write different percentages, such as {SLOWED}, or {NOT_SLOWED}"
    try:
        shares = [parse_percentage(part) for part in split_list(text)]
    except ValueError as error:
        raise UsageError(f"--slowed: {error}; {example}") from None
    if not shares or len(set(shares)) < len(shares) or not all(0 < share < 1 for share in shares):
        raise UsageError(f"--slowed {text}: {example}")
    return sorted(shares)


def _seconds(option: str, text: str) -> Second:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None
