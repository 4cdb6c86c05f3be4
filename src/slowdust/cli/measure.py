"""`slowdust compare`, `run` and `more`: run an experiment of options or of a file, or extend it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import click

from slowdust.analysis.results.gate import Gate
from slowdust.analysis.results.needed import time_to_decide
from slowdust.analysis.stored import Stored
from slowdust.benchmarks.options import split_list
from slowdust.cli.conduct import conduct, gate_exit_code
from slowdust.cli.fleet import run_on_fleet
from slowdust.cli.values import WhenTooShort
from slowdust.errors import UsageError
from slowdust.experiment.experiment import Experiment, spec_to_count
from slowdust.experiment.host_locks import WhenBusy
from slowdust.experiment.journal import StartMode
from slowdust.experiment.spec.options import spec_from_options
from slowdust.experiment.spec.spec import Spec, read_spec
from slowdust.fleet.queue import Asked, Builds, Unfit
from slowdust.located_errors import in_file, placed
from slowdust.places import named_path
from slowdust.store.experiments import find_experiment, free_name
from slowdust.store.folder import MANIFEST_FILE, Folder
from slowdust.units import Second, format_duration
from slowdust.user_text import read_user_text
from slowdust.wording import guess, shortened


def compare(
    *,
    contenders: tuple[str, ...],
    resume: bool,
    results: Path,
    when_busy: WhenBusy,
    gates: list[Gate],
    too_short: WhenTooShort,
    **options: object,
) -> int:
    mode = StartMode.RESUME if resume else StartMode.FRESH
    if resume and options["name"] is None:
        raise UsageError("--resume needs --name, the experiment to resume")
    spec = spec_from_options(contenders, options)
    if options["name"] is not None:
        experiment = Experiment(Folder.of(results, spec.name), spec, mode)
        return conduct(experiment, when_busy, gates=gates, too_short=too_short)
    with free_name(results, spec.name) as name:
        experiment = Experiment.create(spec.model_copy(update={"name": name}), results)
        return conduct(experiment, when_busy, gates=gates, too_short=too_short)


def run(
    *,
    file: str,
    resume: bool,
    results: Path,
    when_busy: WhenBusy,
    gates: list[Gate],
    too_short: WhenTooShort,
    address: str | None,
    hosts: int | None,
    replicate: int | None,
    spread: bool,
    builds: str | None,
    unfit: bool,
    patience: Second | None,
    count_budget: Second | None,
) -> int:
    mode = StartMode.RESUME if resume else StartMode.FRESH
    if address is not None:
        if patience is not None:
            raise UsageError(
                "--patience does not apply to a fleet: write patience = TIME into the file"
            )
        if spread and replicate is not None:
            raise UsageError(
                "--spread measures a test on one host, --replicate on several: choose one"
            )
        if hosts is not None and replicate is not None and hosts < replicate:
            raise UsageError(f"--hosts {hosts} is less than --replicate {replicate}")
        if count_budget is not None:
            raise UsageError(
                "--count-budget does not apply to a fleet: write count_budget = TIME into the file"
            )
        if when_busy is WhenBusy.FAIL:
            raise UsageError(
                "--no-wait does not apply to a fleet: an experiment waits for each host"
            )
        asked = Asked(
            hosts=hosts,
            replicate=replicate or (1 if spread else None),
            builds=Builds(builds) if builds else None,
            unfit=Unfit.USE if unfit else None,
        )
        return run_on_fleet(file, results, mode, address=address, asked=asked, gates=gates)
    of_fleet = {"hosts": hosts, "replicate": replicate, "builds": builds}
    of_fleet |= {"spread": spread or None, "unfit": unfit or None}
    if stray := [name for name, value in of_fleet.items() if value is not None]:
        raise UsageError(f"--{stray[0]} needs --fleet ADDRESS")
    path = named_path(file)
    if resume:
        if not path.is_file():
            folder = find_experiment(results, file)
            folder.refuse_if_merged()
            path = folder.spec_file
        if (path.parent / MANIFEST_FILE).is_file():
            results = path.absolute().parent.parent
    spec = _limited(read_spec(path), {"count_budget": count_budget, "patience": patience})
    with placed(in_file(path, read_user_text(path))):
        experiment = Experiment(Folder.of(results, spec.name), spec, mode)
        return conduct(experiment, when_busy, gates=gates, too_short=too_short)


def _limited(spec: Spec, limits: Mapping[str, Second | None]) -> Spec:
    """Return a specification with the limits that were given, by the names of its keys."""
    return spec.model_copy(
        update={key: given for key, given in limits.items() if given is not None}
    )


def more(
    *,
    name: str,
    budget: Second | None,
    until_decided: bool,
    patterns: str | None,
    patience: Second | None,
    count_budget: Second | None,
    results: Path,
    when_busy: WhenBusy,
    gates: list[Gate],
    too_short: WhenTooShort,
) -> int:
    if budget is not None and until_decided:
        raise UsageError("--budget and --until-decided exclude each other: choose one")
    folder = find_experiment(results, name)
    folder.refuse_if_running()
    folder.refuse_if_merged()
    experiment = Experiment.open(folder)
    stored = experiment.stored
    if stored.manifest.imported is not None:
        raise UsageError(f"'{stored.name}' was imported, so it cannot be continued here")
    if any(contender.slowed for contender in stored.manifest.contenders):
        raise UsageError(
            f"'{stored.name}' is a calibration: resume it with `slowdust calibrate --name "
            f"{stored.name} --resume`"
        )
    if len(stored.manifest.contenders) < 2:
        raise UsageError(f"'{stored.name}' has one contender, so there is nothing to decide")
    if count_budget is not None and budget is None and not until_decided and patterns is None:
        limited = _limited(experiment.spec, {"patience": patience})
        counting = experiment.with_spec(spec_to_count(limited, stored.manifest, count_budget))
        return conduct(counting, when_busy, gates=gates, too_short=too_short)
    limits = {"count_budget": count_budget, "patience": patience}
    code = gate_exit_code(gates, stored.report())
    while tests := _open_tests(stored, patterns):
        extra = _time_to_decide(stored, tests) if until_decided else budget
        if extra is None and until_decided:
            click.echo(
                "stopping: resolving the unsure tests would take over 20 times the time so far",
                err=True,
            )
            return code
        if extra is None:  # as long as before; a stopped experiment runs to its end
            extra = stored.manifest.spent_s if stored.manifest.finished else 0.0
        how_long = f"{format_duration(extra)} more" if extra else "to its end"
        click.echo(f"{folder.name}: {shortened(tests)}, {how_long}", err=True)
        within = experiment.with_spec(_limited(experiment.spec, limits))
        longer = experiment.with_spec(within.longer(tests, extra))
        code = conduct(longer, when_busy, gates=gates, too_short=too_short)
        if not until_decided:
            return code
        experiment = Experiment.open(folder)
        stored = experiment.stored
    which = "none of these tests" if patterns else "no test"
    click.echo(f"{folder.name}: {which} is unsure; nothing to measure", err=True)
    return code


def _open_tests(stored: Stored, patterns: str | None) -> list[str]:
    """Return the matching tests with an unsure result; all matching tests if it was stopped.

    Raises:
        UsageError: no test of the experiment matches a pattern.
    """
    names = stored.manifest.tests
    wanted = split_list(patterns) if patterns else ["*"]
    for pattern in wanted:
        if not any(fnmatchcase(test, pattern) for test in names):
            raise UsageError(
                f"--tests: no test of '{stored.name}' matches '{pattern}'; it has "
                f"{', '.join(names)}{guess(pattern, names)}"
            )
    report = stored.report()
    unsure = {result.test for result in report.results if result.verdict == "unsure"}
    return [
        test
        for test in names
        if any(fnmatchcase(test, pattern) for pattern in wanted)
        and (report.unfinished is not None or test in unsure)
    ]


def _time_to_decide(stored: Stored, tests: Sequence[str]) -> Second | None:
    """Return the expected time to decide the unsure tests; None if it cannot be estimated."""
    report = stored.report()
    if report.unfinished is not None:
        return 0.0
    unsure = [r for r in report.results if r.verdict == "unsure" and r.test in tests]
    return time_to_decide(result for result in unsure if result.needed and not result.needed.more)
