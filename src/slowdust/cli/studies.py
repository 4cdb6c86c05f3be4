"""The commands that run several experiments to answer one question: bisect, blame and others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar

import click

from slowdust.analysis.blame import Blame
from slowdust.analysis.calibration import calibration_of
from slowdust.analysis.stored import read_stored
from slowdust.benchmarks import DEFAULT as USUAL_BENCHMARK
from slowdust.benchmarks.options import split_list
from slowdust.builds import cache
from slowdust.builds.catalog import find_catalog
from slowdust.builds.fingerprint import hash_file
from slowdust.cli.fleet import open_fleet
from slowdust.cli.reports import put
from slowdust.dbms import DEFAULT as USUAL_DBMS
from slowdust.errors import UsageError
from slowdust.experiment.experiment import PAGE_FILE, Lab
from slowdust.experiment.host_locks import WhenBusy
from slowdust.experiment.local_lab import LocalLab
from slowdust.experiment.spec.options import calibration_specs
from slowdust.fleet.lab import FleetLab
from slowdust.fleet.queue import Asked, Unfit
from slowdust.places import named_path, within
from slowdust.report import console, json
from slowdust.report.blame import document as blame_document
from slowdust.report.calibration import section
from slowdust.report.formats import BLAMES
from slowdust.report.markdown.document import lines, plain
from slowdust.store.experiments import check_name, check_results, find_experiment
from slowdust.store.folder import experiments
from slowdust.studies import calibration
from slowdust.studies.bisect.record import Question as BisectQuestion
from slowdust.studies.bisect.study import Bisection
from slowdust.studies.bisect.words import certainty, summary
from slowdust.studies.blame import ALL, MAJOR, Blaming, blame_releases
from slowdust.studies.blame import Question as BlameQuestion
from slowdust.studies.capacity import words as capacity_words
from slowdust.studies.capacity.record import Question as CapacityQuestion
from slowdust.studies.capacity.search import make_search
from slowdust.studies.capacity.sla import parse_sla
from slowdust.studies.capacity.study import Capacities
from slowdust.studies.engine import NOTE_FILE, Study, run_study, write_document
from slowdust.studies.watch import words as watch_words
from slowdust.studies.watch.alarms import Fate, read_state, write_state
from slowdust.studies.watch.alarms import acknowledge as acknowledge_alarms
from slowdust.studies.watch.document import document as watch_document
from slowdust.studies.watch.file import Watch, read_watch
from slowdust.studies.watch.series import begun_folder, read_nights, watch_folder, watch_in
from slowdust.studies.watch.study import Outcome, WatchStudy
from slowdust.studies.watch.subjects import choose_base
from slowdust.text import visible
from slowdust.versions import version_order
from slowdust.wording import guess, no_such

_ROWS = 10_000
"""Rows of each table: enough to measure the cost of an operation, and loaded quickly."""
_PATHS = ("repo", "workload")
_CLIENTS = "4"
"""Clients of a search for a capacity."""
_REGRESSION = 3

_Outcome = TypeVar("_Outcome")


def say(text: str) -> None:
    """Print progress."""
    click.echo(visible(text), err=True)


def _folder(
    noun: str, command: str, subject: str, name: str | None, results: Path, *, resumes: bool
) -> Path:
    """Return the folder of a study. Its default name is made of the subject and the time.

    Raises:
        UsageError: the name is invalid, or is missing although the study is resumed.
    """
    if resumes and name is None:
        raise UsageError(f"--resume needs --name, the {noun} to resume")
    if name is None:
        short = re.sub(r"[^A-Za-z0-9._]+", "-", subject).strip("-._")[:60]
        name = f"{command}-{short}-{datetime.now():%Y%m%d-%H%M%S}"
    check_name(name)
    return within(results, name)


def _given(options: Mapping[str, object]) -> dict[str, Any]:
    """Return the options that were given, with absolute paths.

    The default benchmark gets few rows, unless the user chose their number.
    """
    given = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in options.items()
        if value not in (None, ())
    }
    for key in _PATHS:
        if key in given and (path := named_path(str(given[key]))).exists():
            given[key] = str(path.absolute())
    benchmark = given.get("benchmark", USUAL_BENCHMARK.name)
    usual = "workload" not in given and benchmark == USUAL_BENCHMARK.name
    return {"rows": _ROWS, **given} if usual else given


def _checksum(given: Mapping[str, Any]) -> str | None:
    """Return the SHA-256 of the workload's file; None without a file."""
    file = given.get("workload")
    return hash_file(Path(file)) if isinstance(file, str) and Path(file).is_file() else None


def _lab(
    when_busy: WhenBusy, address: str | None, *, unfit: bool
) -> AbstractContextManager[LocalLab | FleetLab]:
    """Return this host, or the hosts of the fleet at an address.

    Raises:
        UsageError: options contradict each other.
    """
    if address is None:
        if unfit:
            raise UsageError("--unfit needs --fleet ADDRESS")
        return nullcontext(LocalLab(when_busy, decide=make_search))
    if when_busy is WhenBusy.FAIL:
        raise UsageError("--no-wait does not apply to a fleet: an experiment waits for each host")
    return open_fleet(address, Asked(unfit=Unfit.USE if unfit else None))


def _answer(
    study: Study[Any, Any, _Outcome],
    question: object,
    folder: Path,
    lab: AbstractContextManager[Lab],
    *,
    resumes: bool = False,
) -> _Outcome:
    """Begin or resume a study in a lab; return its answer."""
    with lab as opened:
        return run_study(study, question, folder, opened, say, resumes=resumes)


def _report_files(folder: Path) -> None:
    say(f"report: {folder / PAGE_FILE}, note: {folder / NOTE_FILE}")


def bisect(
    *,
    range_: str,
    test: str,
    metric: str,
    repo: str | None,
    good: str | None,
    bad: str | None,
    margin: float | None,
    most_candidates: int,
    name: str | None,
    resume: bool,
    results: Path,
    when_busy: WhenBusy,
    address: str | None,
    unfit: bool,
    **options: object,
) -> int:
    folder = _folder("search", "bisect", range_, name, results, resumes=resume)
    if (good is None) != (bad is None) or (good is None) != (repo is None):
        raise UsageError("--repo, --good and --bad need each other: give all three")
    given = _given({**options, "repo": repo})
    question = BisectQuestion(
        range=range_,
        metric=metric,
        margin=margin,
        most_candidates=most_candidates,
        options={**given, "tests": test},
        good=good,
        bad=bad,
        workload_sha256=_checksum(given),
    )
    lab = _lab(when_busy, address, unfit=unfit)
    outcome = _answer(Bisection(), question, folder, lab, resumes=resume)
    for line in (*summary(outcome), *certainty(outcome)):
        click.echo(line)
    _report_files(folder)
    return 0


def blame(
    *,
    names: tuple[str, ...],
    from_stored: bool,
    html: Path | None,
    form: str | None,
    results: Path,
    when_busy: WhenBusy,
    **options: Any,  # noqa: ANN401 - options of experiments
) -> int:
    if from_stored:
        put(
            _of_stored(names, results, options),
            BLAMES,
            "page",
            html=html,
            form=form,
            show=_show_blame,
        )
        return 0
    if len(names) > 1:
        raise UsageError(
            f"{' '.join(names)}: only one range can be measured at a time; to read stored "
            "experiments, add --from"
        )
    resumes, [range_] = options.pop("resume"), names
    lab = _lab(when_busy, options.pop("address"), unfit=options.pop("unfit"))
    folder = _folder("series", "blame", range_, options.pop("name"), results, resumes=resumes)
    every, together = options.pop("every"), options.pop("together")
    if options["tests"] is options["suite"] is options["workload"] is None:
        options["suite"] = "quick"
    options["budget"] = options["budget"] or "5m"
    given = _given(options)
    question = BlameQuestion(
        range=range_,
        every=every or MAJOR,
        together=together,
        options=given,
        workload_sha256=_checksum(given),
    )
    study = Blaming()
    found = _answer(study, question, folder, lab, resumes=resumes)
    _report_files(folder)
    put(found, BLAMES, "page", html=html, form=form, show=_show_blame)
    if html is not None and form is None:
        _show_blame(found)
    return 1 if study.failed else 0


def _show_blame(found: Blame) -> None:
    console.show(blame_document(found))


def _of_stored(names: Sequence[str], results: Path, options: dict[str, Any]) -> Blame:
    """Return the costs from stored experiments.

    Raises:
        UsageError: an option applies to measuring only, there is no such experiment, test or
            benchmark, or no two releases are compared.
    """
    tests = options.pop("tests")
    benchmark = options.pop("benchmark")
    given = [key for key, value in options.items() if value not in (None, (), False)]
    if given:
        option = {"settings": "--set", "address": "--fleet"}.get(given[0], f"--{given[0]}")
        raise UsageError(f"{option} has no effect with --from, which only reads stored experiments")
    folders = {folder.path: folder for folder in (find_experiment(results, n) for n in names)}
    stored = [read_stored(folder) for folder in folders.values()]
    patterns = split_list("*" if tests is None else tests)
    if not patterns:
        raise UsageError("--tests is empty: write names or patterns; without --tests all are shown")
    known = sorted({test for each in stored for test in each.manifest.tests})
    benchmarks = sorted({record.place.benchmark for each in stored for record in each.slices})
    if benchmark is not None and benchmark not in benchmarks:
        raise UsageError(f"--benchmark: {no_such('benchmark', benchmark, benchmarks)}")
    for pattern in patterns:
        if not any(fnmatchcase(test, pattern) for test in known):
            raise UsageError(f"--tests: no test matches '{pattern}'{guess(pattern, known)}")
    choice = replace(
        ALL,
        benchmark=lambda name: benchmark in {None, name},
        test=lambda name: any(fnmatchcase(name, pattern) for pattern in patterns),
    )
    return blame_releases(stored, choice)


def capacity(
    *,
    contenders: tuple[str, ...],
    sla_text: str,
    test: str,
    precision: float,
    trial: float | None,
    arrivals: str,
    name: str | None,
    resume: bool,
    as_json: bool,
    results: Path,
    when_busy: WhenBusy,
    address: str | None,
    unfit: bool,
    **options: object,
) -> int:
    folder = _folder("search", "capacity", test, name, results, resumes=resume)
    if precision <= 0:
        raise UsageError("--precision 0% can never be reached: write a larger value, such as 3%")
    given = _given(options)
    if given.get("benchmark") != "insert":  # its rates are per client
        given = {"clients": _CLIENTS, **given}
    question = CapacityQuestion(
        contenders=[*contenders],
        sla=parse_sla(sla_text).written,
        test=test,
        precision=precision,
        arrivals=arrivals,
        trial=trial,
        options=given,
        workload_sha256=_checksum(given),
    )
    lab = _lab(when_busy, address, unfit=unfit)
    outcome = _answer(Capacities(), question, folder, lab, resumes=resume)
    if as_json:
        click.echo(json.render(outcome), nl=False)
    else:
        for line in (*capacity_words.summary(outcome), *capacity_words.certainty(outcome)):
            click.echo(line)
    _report_files(folder)
    return 0


def calibrate(
    *,
    contenders: tuple[str, ...],
    resume: bool,
    stored: str | None,
    results: Path,
    when_busy: WhenBusy,
    address: str | None,
    unfit: bool,
    **options: str | None,
) -> int:
    if stored is not None:
        check_results(results)
        folders = [one for one in experiments(results) if fnmatchcase(one.name, stored)]
        read = (calibration_of(one.read_manifest(), one.read_slices()) for one in folders[::-1])
        if not (found := [each for each in read if each is not None]):
            raise UsageError(f"no calibration in {results} matches '{stored}'")
        click.echo("\n".join(lines(section(found).blocks)))
        return 0
    if resume and options["name"] is None:
        raise UsageError("--resume needs --name, the calibration to resume")
    name = options["name"]
    if name is None:
        name = f"calibration-{datetime.now():%Y%m%d-%H%M%S}"
    check_name(name)
    specs = calibration_specs(contenders or [_at_hand()], {**options, "name": name})
    folder = within(results, calibration.FOLDER, name)
    study, question = calibration.Calibrating(), calibration.Question(name, specs, results)
    lab = _lab(when_busy, address, unfit=unfit)
    if found := _answer(study, question, folder, lab, resumes=resume):
        click.echo("\n".join(lines(section(found).blocks)))
    _report_files(folder)
    return study.code


def _at_hand() -> str:
    """Return the newest cached version, or else the newest of the catalog."""
    listed = [entry.version for entry in find_catalog(USUAL_DBMS).entries]
    versions = cache.versions(USUAL_DBMS) or listed
    return f"{USUAL_DBMS}@{max(versions, key=version_order)}"


def watch(
    file: str,
    *,
    status: bool,
    results: Path,
    when_busy: WhenBusy,
    address: str | None,
    unfit: bool,
) -> int:
    watch = read_watch(named_path(file))
    folder = watch_folder(results, watch.table.name)
    # An invalid file fails before anything is fetched.
    base = choose_base(watch.table)
    watch.spec("check", [base, base])
    if status:
        return _show_status(watch, begun_folder(results, watch.table.name))
    lab = _lab(when_busy, address, unfit=unfit)
    code = _report_night(_answer(WatchStudy(), watch, folder, lab))
    click.echo(f"report: {folder / PAGE_FILE}", err=True)
    return code


def _report_night(outcome: Outcome) -> int:
    """Print the outcome of the night; return the exit code."""
    state, night = outcome.state, outcome.night
    if night is None:
        click.echo("nothing new")
    else:
        for line in watch_words.report_night(night, outcome.judgement):
            click.echo(visible(line))
    for line in watch_words.in_doubt(state):
        click.echo(line)
    new = [*outcome.judgement.raised, *outcome.judgement.joined]
    for line in watch_words.still_there(state, new):
        click.echo(visible(f"earlier alarm: {line}"))
    if outcome.unreported:
        return _REGRESSION
    return 1 if night is not None and (night.failed is not None or night.failed_wholly) else 0


def _show_status(watch: Watch, folder: Path) -> int:
    """Print the state of a watch, and rewrite its page."""
    nights, state = read_nights(folder), read_state(folder)
    click.echo(plain(watch_document(watch.table.name, state, nights)), nl=False)
    write_document(folder, watch_document, watch.table.name, state, nights)
    click.echo(f"report: {folder / PAGE_FILE}", err=True)
    return 0


def acknowledge(
    name: str, tests: tuple[str, ...], note: str, results: Path, *, accepted: bool
) -> int:
    folder = begun_folder(results, name)
    with watch_in(folder).held():
        state = read_state(folder)
        fate = Fate.ACCEPTED if accepted else Fate.ACKNOWLEDGED
        day = datetime.now(UTC).date().isoformat()
        changed = acknowledge_alarms(state, tests, fate, note, day)
        write_state(folder, state)
        write_document(folder, watch_document, name, state, read_nights(folder))
    for change in changed:
        click.echo(watch_words.with_fate(change))
    return 0
