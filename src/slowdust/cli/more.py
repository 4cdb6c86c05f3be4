"""`slowdust more`: an experiment that goes on until more is decided."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import click

from slowdust.analysis.results.gate import Gate
from slowdust.analysis.results.needed import time_to_decide
from slowdust.analysis.stored import Stored
from slowdust.benchmarks.options import split_list
from slowdust.cli import completion
from slowdust.cli.conduct import conduct
from slowdust.cli.gates import exit_code_of
from slowdust.cli.options import WORDS, WhenTooShort, options, with_limits
from slowdust.errors import UsageError
from slowdust.experiment.experiment import Experiment, spec_to_count
from slowdust.experiment.host_locks import WhenBusy
from slowdust.store.experiments import kept_experiment
from slowdust.units import Second, format_duration
from slowdust.wording import guess, shortened


@click.command(
    "more",
    epilog=WORDS,
    params=options(
        "more", "budget until-decided tests patience count-budget fail-on yes no-wait results"
    ),
)
@click.argument("name", shell_complete=completion.experiments)
def command(
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
    """Go on with the experiment NAME: measure the tests that are unsure for some time more.

    NAME is the name of an experiment or the path of its folder. The same builds, settings and rows
    are measured in new starts of the servers, and the report is made of all slices together. An
    experiment that was stopped goes on where it stopped. What is decided is left as it is; tests
    are measured on until they are decided, or the time is over. With --count-budget alone nothing
    is measured: work is counted that there was no time for.

    \b
    slowdust more pg17 --budget 10m
    slowdust more pg17 --tests 'point*' --budget 5m
    slowdust more pg17 --until-decided
    slowdust more pg17 --count-budget 5m
    """
    if budget is not None and until_decided:
        raise UsageError("--budget and --until-decided contradict each other: give one of them")
    folder = kept_experiment(results, name)
    folder.refuse_if_running()
    folder.refuse_if_joined()
    limits = {"count_budget": count_budget, "patience": patience}
    experiment = Experiment.open(folder)
    stored = experiment.stored
    _check(stored)
    if count_budget is not None and budget is None and not until_decided and patterns is None:
        limited = with_limits(experiment.spec, {"patience": patience})
        counting = experiment.with_spec(spec_to_count(limited, stored.manifest, count_budget))
        return conduct(counting, when_busy, gates=gates, too_short=too_short)
    code = exit_code_of(gates, stored.report())
    while tests := _open_tests(stored, patterns):
        extra = _time_to_decide(stored, tests) if until_decided else budget
        if extra is None and until_decided:
            click.echo("what is unsure would take more than 20 times what was measured", err=True)
            return code
        if extra is None:  # as long as before, or a stopped experiment to its end
            extra = stored.manifest.spent_s if stored.manifest.finished else 0.0
        how_long = f"{format_duration(extra)} more" if extra else "to its end"
        click.echo(f"{folder.name}: {shortened(tests)}, {how_long}", err=True)
        within = experiment.with_spec(with_limits(experiment.spec, limits))
        longer = experiment.with_spec(within.longer(tests, extra))
        code = conduct(longer, when_busy, gates=gates, too_short=too_short)
        if not until_decided:
            return code
        experiment = Experiment.open(folder)
        stored = experiment.stored
    which = "none of these tests" if patterns else "no test"
    click.echo(f"{folder.name}: {which} is unsure, there is nothing to measure", err=True)
    return code


def _check(stored: Stored) -> None:
    """Refuse what cannot go on. Raises UsageError."""
    if stored.manifest.imported is not None:
        raise UsageError(f"'{stored.name}' was imported: it was not measured here")
    if any(contender.slowed for contender in stored.manifest.contenders):
        raise UsageError(
            f"'{stored.name}' is a calibration: `slowdust calibrate --name {stored.name} --resume` "
            "goes on with it"
        )
    if len(stored.manifest.contenders) < 2:
        raise UsageError(f"'{stored.name}' has one contender: there is nothing to decide")


def _open_tests(stored: Stored, patterns: str | None) -> list[str]:
    """Return the tests that have an unsure result, or of a stopped experiment all, of those named.

    Raises:
        UsageError: no test of the experiment matches a pattern.
    """
    names = stored.manifest.tests
    wanted = split_list(patterns) if patterns else ["*"]
    for pattern in wanted:
        if not any(fnmatchcase(test, pattern) for test in names):
            raise UsageError(
                f"--tests: no test of '{stored.name}' is called '{pattern}'; it has "
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
    """Return the time that is expected to decide what is unsure; None where it is not foreseen."""
    report = stored.report()
    if report.unfinished is not None:
        return 0.0
    unsure = [r for r in report.results if r.verdict == "unsure" and r.test in tests]
    return time_to_decide(result for result in unsure if result.needed and not result.needed.more)
