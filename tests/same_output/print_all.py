"""Print every report of every stored experiment, with the Slowdust that is on the Python path.

Run as a script: `print_all.py RESULTS OUTPUT [ARCHIVE]`. It imports the published runs below
ARCHIVE into RESULTS, then writes the reports of all experiments of RESULTS, and their histories,
to OUTPUT.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from slowdust.cli.main import main

ARCHIVES = (
    ("sysbench", "mar25.pg.workmem.c48"),
    ("sysbench", "feb25.pg.perf"),
    ("sysbench", "nov25.sb.pg"),
    ("sysbench", "apr25.c48.malloc"),
    ("iibench", "ibench.jan2021"),
)
"""Kind of import and directory of each published set."""
FORMATS = ("--md", "--csv", "--json")


def call(*arguments: str) -> str:
    """Run the command line; return what it printed, with its errors and its exit code if not 0."""
    sys.argv = ["slowdust", *arguments]
    output = io.StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        try:
            main()
        except SystemExit as end:
            if end.code:
                output.write(f"exit code {end.code}\n")
    return output.getvalue()


def import_archives(results: Path, output: Path, archive: Path) -> None:
    """Import each published set with clean and with published numbers."""
    for kind, directory in ARCHIVES:
        for mode in ("clean", "compat"):
            name = f"{directory}-{mode}"
            options = ["--compat"] if mode == "compat" else []
            where = ["--name", name, "--results", str(results)]
            printed = call("import", kind, str(archive / directory), *options, *where)
            (output / f"{name}.import").write_text(printed.replace(str(results), "RESULTS"))


def print_experiment(name: str, results: Path, output: Path) -> None:
    """Write all formats of one experiment's report, its page and its classic files."""
    where = ("--results", str(results))
    for form in FORMATS:
        (output / f"{name}{form}").write_text(call("report", name, form, *where))
    page = output / f"{name}--html"
    summary = call("report", name, "--html", str(page), "--bands", "5,15", *where)
    (output / f"{name}.tldr").write_text(summary.replace(str(output), "OUTPUT"))
    classic = output / f"{name}--classic"
    printed = call("report", name, "--classic", str(classic), *where)
    (output / f"{name}.classic").write_text(printed.replace(str(output), "OUTPUT"))
    (output / f"{name}.show").write_text(call("show", name, *where))


def main_of_script(arguments: Sequence[str]) -> None:
    """Import, then print; see the module."""
    results, output = Path(arguments[0]), Path(arguments[1])
    os.environ["SLOWDUST_RESULTS"] = str(results)  # so that commands in reports have no path
    output.mkdir(parents=True)
    if len(arguments) > 2:
        import_archives(results, output, Path(arguments[2]))
    names = sorted(path.parent.name for path in results.glob("*/manifest.json"))
    for name in names:
        print_experiment(name, results, output)
        history = call("history", name, "--json", "--results", str(results))
        (output / f"{name}.history--json").write_text(history)
    for form in ("--json", "--md"):
        history = call("history", *names, form, "--results", str(results))
        (output / f"all.history{form}").write_text(history)


if __name__ == "__main__":
    main_of_script(sys.argv[1:])
