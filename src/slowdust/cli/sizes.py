"""`slowdust builds sizes`: the sizes of server binaries by version, and of build trees."""

from __future__ import annotations

import functools
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from slowdust.analysis.sizes import report_of
from slowdust.builds.sizes import Choice, chosen_builds, expected_bytes, sizes_of, sizes_of_tree
from slowdust.cli.options import formats, options
from slowdust.cli.pages import write_page
from slowdust.errors import SlowdustError, UsageError
from slowdust.report.formats import SIZES, render_as
from slowdust.report.markdown.document import plain
from slowdust.report.sizes import document
from slowdust.store.sizes import BuildSizes
from slowdust.wording import counted


@click.command(
    "sizes",
    short_help="Show sizes of server binaries by version, and of build trees.",
    params=[*options("builds-sizes", "fetched"), *formats(SIZES)],
)
@click.argument("names", nargs=-1, required=True, metavar="DBMS@PATTERN|DIR...")
def command(names: Sequence[str], *, fetched: bool, html: Path | None, form: str | None) -> None:
    """Show sizes of server binaries by version, with the growth over the build before.

    A build is named as in `slowdust builds list`; `*` and `?` stand for letters, so quote them.
    Builds that are not at hand are fetched, after a line that says how much that is. Sizes are read
    from the headers of the files: as they are and stripped, code, text, data and bss, symbols and
    functions, shared libraries of the build that the server needs, and plugins.

    DIR is a build tree: its object files (*.o) and static libraries (*.a) are summed up by
    directory.

    \b
    slowdust builds sizes 'mysql@*' --fetched
    slowdust builds sizes 'postgres@1?.*' 'mariadb@*' --html sizes.html
    slowdust builds sizes 'postgres@git:*'
    slowdust builds sizes ~/postgres/build

    A terminal shows as many columns as fit; --md has all of them.
    """
    trees = [Path(name) for name in names if _is_directory(name)]
    patterns = [name for name in names if not _is_directory(name)]
    builds = list(_sizes(patterns, fetched)) if patterns else []
    report = report_of(builds, [sizes_of_tree(tree) for tree in trees])
    if html is not None:
        write_page(html, render_as("html", SIZES, report))
        click.echo(f"sizes: {html}", err=True)
    if form is not None:
        sys.stdout.write(render_as(form, SIZES, report))
    elif html is None:
        width = shutil.get_terminal_size().columns
        click.echo(_wrapped(plain(document(report), width), width))


def _wrapped(text: str, width: int) -> str:
    """Return a text whose lines fit the terminal, without breaking tables."""
    lines = (
        line
        if line.startswith("|")
        else textwrap.fill(line, min(width, 100), break_on_hyphens=False)
        for line in text.rstrip().splitlines()
    )
    return "\n".join(lines)


def _is_directory(name: str) -> bool:
    if Path(name).is_dir():
        return True
    if "@" not in name:
        raise UsageError(
            f"{name!r} is neither a directory nor a build: write DBMS@VERSION, for example "
            "'postgres@17.*'"
        )
    return False


def _sizes(patterns: Sequence[str], only_fetched: bool) -> Iterator[BuildSizes]:  # noqa: FBT001
    """Yield the sizes of the builds that patterns name; those that cannot be had are reported.

    Raises:
        SlowdustError: none of them can be had.
    """
    chosen = chosen_builds(patterns)
    missing = [build for build in chosen if not build.at_hand]
    if only_fetched:
        chosen = [build for build in chosen if build.at_hand]
    elif missing:
        click.echo(_announcement(missing), err=True)
    measured = 0
    for choice in chosen:
        try:
            progress = functools.partial(_print_phase, choice.name)
            yield sizes_of(choice.build(progress))
            measured += 1
        except SlowdustError as error:
            click.echo(f"left out: {choice.name}: {error}", err=True)
    if not measured:
        raise SlowdustError(
            f"no build of {', '.join(patterns)} is at hand"
            + (": leave out --fetched to fetch them" if only_fetched else "")
        )


def _announcement(missing: Sequence[Choice]) -> str:
    expected = expected_bytes(missing)
    size = (
        "which need disk space that nothing at hand tells"
        if expected is None
        else f"about {expected / 1e6:,.0f} MB on disk by the builds at hand"
    )
    return f"fetching {counted(len(missing), 'build')}, {size}; --fetched leaves them out"


def _print_phase(name: str, phase: str) -> None:
    click.echo(f"{name}: {phase}", err=True)
