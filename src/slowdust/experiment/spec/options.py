"""A specification from the options of `slowdust compare`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from slowdust import benchmarks
from slowdust.benchmarks.model import Benchmark
from slowdust.benchmarks.options import read_number, read_numbers, split_list
from slowdust.dbms.settings import setting_name
from slowdust.errors import UsageError
from slowdust.experiment.spec.errors import Options, at, placed
from slowdust.experiment.spec.spec import Spec, parse_spec
from slowdust.units import parse_percentage
from slowdust.wording import listing

_PLAIN = (
    "suite", "benchmark", "tables", "budget", "slice", "incarnations", "seed", "name", "cpus",
    "workload", "count", "count_budget", "simulate", "profile", "waits", "keep", "memory", "pool",
    "repo", "patience",
)  # fmt: skip


def spec_from_options(contenders: Sequence[str], options: Mapping[str, object]) -> Spec:
    """Return the specification that the options of `compare` mean; None stands for a default.

    Raises:
        UsageError: naming the option that is wrong.
    """
    with placed(Options()), at("benchmark"):
        benchmark = benchmarks.benchmark(str(options.get("benchmark") or benchmarks.DEFAULT.name))
    data: dict[str, object] = {"name": _name(contenders), "contenders": list(contenders)}
    if table := _own_table(benchmark, options):
        data[benchmark.name] = table
        options = {**options, **dict.fromkeys(option.parameter for option in benchmark.options)}
    data |= {key: options[key] for key in _PLAIN if options.get(key) is not None}
    if (tests := options.get("tests")) is not None:
        data["tests"] = _tests(str(tests), options.get("suite"))
    if (clients := options.get("clients")) is not None:
        levels = data["clients"] = read_numbers("--clients", str(clients))
        if min(levels, default=1) < 1:
            raise UsageError(f"--clients {clients}: at least one client is needed")
    if margin := options.get("margin"):
        data["margin"] = _margin(str(margin))
    if (rows := options.get("rows")) is not None:
        data["rows"] = read_number("--rows", str(rows))
    if (rate := options.get("rate")) is not None:
        data["rate"] = {"per_second": rate, "arrivals": options.get("arrivals") or "poisson"}
    elif options.get("arrivals"):
        raise UsageError("--arrivals needs --rate: it is the distribution of an open loop")
    settings = options.get("settings")
    if isinstance(settings, Sequence):
        data |= _settings([_setting(str(pair)) for pair in settings])
    if (flags := options.get("flags")) is not None:
        data["matrix"] = {**_matrix(data), "flags": split_list(str(flags))}
    return parse_spec(data, Options())


def _matrix(data: Mapping[str, object]) -> Mapping[str, object]:
    matrix = data.get("matrix", {})
    assert isinstance(matrix, Mapping)
    return matrix


def _name(contenders: Sequence[str]) -> str:
    parts = [re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-._") for name in contenders]
    shown = "-vs-".join(dict.fromkeys(part for part in parts[:3] if part)) or "experiment"
    return f"{shown[:80]}-{datetime.now():%Y%m%d-%H%M%S}"


def _tests(text: str, suite: object) -> list[str]:
    if suite is not None:
        raise UsageError("--tests and --suite both say what to run: give one of them")
    tests = split_list(text)
    if not tests:
        raise UsageError(f"--tests {text}: name a test, see `slowdust tests`")
    return tests


def _own_table(benchmark: Benchmark, options: Mapping[str, object]) -> dict[str, object]:
    """Return the benchmark's own table that the options mean; empty where they say nothing."""
    own = {option.parameter for option in benchmark.options}
    for option in (option for other in benchmarks.BENCHMARKS.values() for option in other.options):
        shared = option.parameter in own or option.parameter in Spec.model_fields
        if options.get(option.parameter) is not None and not shared:
            having = [each.name for each in benchmarks.BENCHMARKS.values() if each.has(option)]
            noun = "benchmark" if len(having) == 1 else "benchmarks"
            raise UsageError(
                f"{option.name} applies only to the {noun} {listing(having, 'and')}: give "
                f"--benchmark {listing(having, 'or')} too"
            )
    return dict(
        option.item(given)
        for option in benchmark.options
        if (given := options.get(option.parameter)) is not None
    )


def _margin(text: str) -> float:
    try:
        return parse_percentage(text)
    except ValueError as error:
        raise UsageError(f"--margin: {error}") from None


def _settings(pairs: Sequence[tuple[str, str]]) -> dict[str, object]:
    """Return the settings of all contenders; one with several values is an axis of the matrix."""
    values: dict[str, list[str]] = {}
    for key, value in pairs:
        values.setdefault(setting_name(key), []).append(value)
    return {
        "set": {key: given[0] for key, given in values.items() if len(given) == 1},
        "matrix": {key: given for key, given in values.items() if len(given) > 1},
    }


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise UsageError(f"--set {text}: write KEY=VALUE")
    return key.strip(), value.strip()
