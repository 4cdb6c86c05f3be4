"""`slowdust merge`: one experiment of those of several hosts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import click

from slowdust.analysis.stored import read_stored
from slowdust.cli.completion import experiments
from slowdust.cli.options import options
from slowdust.errors import UsageError
from slowdust.merge.merge import Design, merge
from slowdust.merge.sources import Source
from slowdust.report import tables as in_words
from slowdust.store.bundle import unpack
from slowdust.store.experiments import BUNDLE_SUFFIX, check_name, kept_experiment
from slowdust.store.folder import Folder
from slowdust.temporary import temporary_folder
from slowdust.wording import guess


@click.command(
    "merge",
    params=[
        click.Option(
            ["--name"], required=True, metavar="NAME", help="Name of the joined experiment."
        ),
        click.Option(
            ["--replicate", "designs"],
            flag_value="replicate",
            multiple=True,
            help="Insist that each test was measured on several hosts.",
        ),
        click.Option(
            ["--spread", "designs"],
            flag_value="spread",
            multiple=True,
            help="Insist that each test was measured on one host only.",
        ),
        click.Option(
            ["--host", "hosts"],
            metavar="RESULT=NAME",
            multiple=True,
            help="Call the host of a result so; it tells hosts with the same facts apart.",
        ),
        *options("merge", "results"),
    ],
)
@click.argument("parts", metavar="RESULTS...", nargs=-1, required=True, shell_complete=experiments)
def command(
    *,
    parts: Sequence[str],
    name: str,
    designs: Sequence[Design],
    hosts: Sequence[str],
    results: Path,
) -> None:
    """Join the experiments RESULTS, of one host or of many, into the experiment NAME.

    RESULTS are names of experiments, paths of their folders, or bundles. Each compares its
    contenders on its own host, and the same builds, settings and data were measured in all. What
    hosts do differently is part of every interval of a test that several hosts measured. Run it
    again when more has been measured: NAME is made anew.

    \b
    slowdust bundle pg17                                  (on each host)
    slowdust merge alpha.slowdust beta.slowdust --name pg17-hosts
    slowdust merge night-a night-b --name night --host night-a=alpha --host night-b=beta
    """
    check_name(name)
    if len(set(designs)) > 1:
        raise UsageError("--replicate and --spread contradict each other: give one of them")
    names = _host_names(hosts, parts)
    with ExitStack() as stack:
        place = stack.enter_context(temporary_folder())
        opened = [
            _part(given, names.get(given), results, place / str(number))
            for number, given in enumerate(parts)
        ]
        joined = merge(opened, Folder.of(results, name), next(iter(designs), None))
    for sentence in joined.sentences:
        click.echo(sentence, err=True)
    for line in in_words.overview(read_stored(joined.folder).report()):
        click.echo(line)
    click.echo(f"joined: {joined.folder.path}")


def _host_names(hosts: Sequence[str], parts: Sequence[str]) -> dict[str, str]:
    """Return the part as it was given -> the name of its host.

    Raises:
        UsageError: one has no name, or is of none of the parts.
    """
    names: dict[str, str] = {}
    for text in hosts:
        part, _, name = text.rpartition("=")
        if not part or not name.strip():
            raise UsageError(f"--host {text}: write RESULT=NAME")
        if part not in parts:
            raise UsageError(f"--host {text}: '{part}' is none of RESULTS{guess(part, parts)}")
        names[part] = name.strip()
    return names


def _part(given: str, host: str | None, results: Path, place: Path) -> Source:
    """Open a part: an experiment that is kept, or a bundle, which is unpacked into `place`."""
    if given.endswith(BUNDLE_SUFFIX) and Path(given).is_file():
        return Source(unpack(Path(given), place), host, given, str(Path(given).absolute()))
    return Source(kept_experiment(results, given), host, given)
