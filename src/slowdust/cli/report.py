"""`slowdust report`: the results of an experiment, for people and for programs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from slowdust.analysis.results.gate import Gate
from slowdust.analysis.stored import of_group, read_stored
from slowdust.analysis.story.bands import DEFAULT_BANDS, Bands
from slowdust.analysis.story.changes import changes_beside_tldr
from slowdust.cli import completion
from slowdust.cli.gates import exit_code_of
from slowdust.cli.options import WORDS, NamedPath, formats, options
from slowdust.cli.pages import write_page
from slowdust.errors import UsageError
from slowdust.exchange import write_classic
from slowdust.kinds import KINDS
from slowdust.places import check_regular
from slowdust.report import answer, terminal
from slowdust.report.files import page_name
from slowdust.report.formats import REPORTS, SHORT_REPORTS, render_as
from slowdust.store.experiments import kept_experiment
from slowdust.store.folder import Folder, experiments
from slowdust.store.storage import replace_file


@click.command(
    "report",
    epilog=WORDS,
    params=[
        *formats(REPORTS),
        click.Option(
            ["--classic"],
            type=NamedPath(file_okay=False),
            help="Write the classic files into DIRECTORY: qps.abs, o.met, mrg, ...; see "
            "docs/import.md.",
        ),
        *options("report", "base group short bands fail-on results"),
    ],
)
@click.argument("name", required=False, shell_complete=completion.experiments)
def command(
    *,
    name: str | None,
    html: Path | None,
    junit: Path | None,
    form: str | None,
    classic: Path | None,
    short: bool,
    base: str | None,
    group: str | None,
    bands: Bands | None,
    gates: list[Gate],
    results: Path,
) -> int:
    """Report on the experiment NAME, or of the folder NAME, by default the newest.

    Without options it prints the tl;dr and writes report.html into the experiment's folder; with
    --base the page is called after the base, so that it stands beside that of the first one.
    With --bands it also says, for each group of tests, how many changed from version to version.
    """
    if short and form != "md":
        raise UsageError("--short applies to --md: write --md --short")
    folder = _find_folder(name, results)
    stored = read_stored(folder)
    if group is not None:
        stored = of_group(stored, group)
    slices, profiles = stored.slices, stored.profiles
    report = stored.report(base, bands or DEFAULT_BANDS)
    if classic is not None:
        written = write_classic(KINDS, stored.manifest, report, slices, classic)
        why = "" if written else ": nothing in the experiment says what would be in them"
        click.echo(f"{len(written)} classic files in {classic}{why}", err=True)
    if form is not None:
        formats = SHORT_REPORTS if short else REPORTS
        sys.stdout.write(render_as(form, formats, report, slices, profiles))
    if junit is not None:
        check_regular(junit)
        units = render_as("junit", REPORTS, report, slices, profiles)
        replace_file(junit, units.encode())
        click.echo(f"JUnit: {junit}", err=True)
    if html is not None or (form is None and classic is None and junit is None):
        destination = html or folder.path / page_name(report, stored.manifest.base, group)
        write_page(destination, render_as("html", REPORTS, report, slices, profiles))
        if form is None:
            more = answer.list_of_changes(changes_beside_tldr(report)) if bands is not None else []
            terminal.show(report, more)
        click.echo(f"report: {destination}", err=form is not None)
    return exit_code_of(gates, report)


def _find_folder(name: str | None, results: Path) -> Folder:
    if name is not None:
        return kept_experiment(results, name)
    stored = experiments(results)
    if not stored:
        raise UsageError(f"there is no experiment in {results}: run `slowdust compare` first")
    return stored[0]
