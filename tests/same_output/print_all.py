"""Print all output about stored experiments, with the Slowdust that is on the Python path.

`python -m tests.same_output.print_all OUTPUT [NAME]...` works in an empty folder. It unpacks the
stored experiments of these names, by default all, into its `results/`, imports the published runs
next to the project, and writes every text, page and file of every command that reads stored
experiments to OUTPUT. Output of a command that failed ends with FAILED.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from slowdust.benchmarks import BENCHMARKS
from slowdust.cli.main import main
from tests.experiments.kinds import KINDS
from tests.experiments.stored import ARCHIVE, INPUTS, unpack_experiments

FAILED = "\nslowdust failed: "
"""Precedes the exit code 1 or 2, or the error, of a command."""
ARCHIVES = (
    ("sysbench", "mar25.pg.workmem.c48"),
    ("sysbench", "feb25.pg.perf"),
    ("sysbench", "nov25.sb.pg"),
    ("sysbench", "apr25.c48.malloc"),
    ("iibench", "ibench.jan2021"),
)
"""Kind of import and directory of each published set."""
PAIRS = (
    ("merged-alpha", "merged-beta"),
    ("blame/steps/3.17.0-to-3.25.2", "sqlite"),
    ("sqlite", "counts"),
    ("insert", "micro"),
)
"""Experiments between which there is a diff: of equal and of other conditions, tests and kinds."""
RESULTS = Path("results")
_EXPLAINED = 12
"""Tests of an experiment that are explained, at most."""


def call(*arguments: str) -> str:
    """Run the command line; return what it printed, with its errors and its exit code if not 0."""
    sys.argv = ["slowdust", *arguments]
    output = io.StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        try:
            main()
        except SystemExit as end:
            if end.code in (1, 2):
                output.write(f"{FAILED}exit code {end.code}\n")
            elif end.code:
                output.write(f"exit code {end.code}\n")
        except Exception as error:
            output.write(f"{FAILED}{type(error).__name__}: {error}\n")
    return output.getvalue()


@dataclass(frozen=True)
class Writer:
    """The output of commands, as files in the folder of one experiment or study."""

    folder: Path

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)

    def print(self, file: str, *command: str) -> str:
        """Write what a command prints."""
        printed = call(*command).replace(str(self.folder), "OUTPUT")
        (self.folder / file).write_text(printed, encoding="utf-8")
        return printed

    def keep(self, *paths: Path) -> None:
        """Copy files that a command wrote, as far as they are there."""
        for path in paths:
            if path.is_file():
                shutil.copy(path, self.folder / path.name)


def write_experiment(name: str, output: Writer) -> None:
    """Write all formats of an experiment's report, what else shows it, and its bundle."""
    path = str(RESULTS / name)
    output.print("report", "report", path)
    output.keep(RESULTS / name / "report.html")
    for option in ("md", "csv", "json"):
        output.print(f"report.{option}", "report", path, f"--{option}")
    output.print("short.md", "report", path, "--md", "--short")
    page, units, classic = (str(output.folder / each) for each in ("page.html", "junit", "classic"))
    output.print("bands", "report", path, "--html", page, "--bands", "1,5")
    output.print("gates", "report", path, "--junit", units, "--fail-on", "slower:5%")
    output.print("classic.files", "report", path, "--classic", classic)
    output.print("show", "show", path)
    manifest = json.loads((RESULTS / name / "manifest.json").read_text())
    last = manifest["contenders"][-1]["name"]
    output.print("other-base.md", "report", path, "--md", "--base", last)
    for test in manifest["tests"][:_EXPLAINED]:
        output.print(f"explain.{test}", "explain", path, test)
        output.print(f"explain.{test}.json", "explain", path, test, "--contender", "*", "--json")
    page = str(output.folder / "history.html")
    output.print("history", "history", path, "--html", page)
    output.print("history.json", "history", path, "--json")
    bundle, name = f"{name.replace('/', '-')}.slowdust", Path(name).name
    output.print("bundle", "bundle", path, "-o", bundle)
    output.print("unpacked", "import", "bundle", bundle, "--results", "unpacked")
    output.print("unpacked.json", "report", f"unpacked/{name}", "--json")
    shutil.rmtree("unpacked", ignore_errors=True)


def write_study(name: str, output: Writer) -> None:
    """Write what the finished study says when it is asked again, its page and its note."""
    for number, command in enumerate(KINDS[name].again):
        output.print(f"again-{number}", *command)
    for folder in (RESULTS / name, RESULTS / "watch" / name):
        output.keep(folder / "report.html", folder / "note.md")


def write_all(names: Sequence[str], output: Writer) -> None:
    """Write what is said of all experiments together."""
    paths = [str(RESULTS / name) for name in names]
    output.print("list", "list")
    page = str(output.folder / "history.html")
    output.print("history", "history", "--html", page)
    for option in ("json", "md"):
        output.print(f"history.{option}", "history", *paths, f"--{option}")
        output.print(f"blame.{option}", "blame", "--from", *paths, f"--{option}")
    for pair in PAIRS:
        if {*pair} <= {*names}:
            given = [str(RESULTS / name) for name in pair]
            file = "diff." + "-".join(pair).replace("/", "-")
            page = str(output.folder / f"{file}.html")
            output.print(file, "diff", *given)
            output.print(f"{file}.md", "diff", *given, "--md", "--html", page)
            output.print(f"{file}.json", "diff", *given, "--json")
    output.print("site.pages", "site", str(output.folder / "site"))
    (output.folder / "site" / ".slowdust-site.json").unlink(missing_ok=True)  # hashes of sources
    for benchmark in BENCHMARKS:
        output.print(f"tests.{benchmark}", "tests", "--benchmark", benchmark)
    output.print("tests.own", "tests", "--workload", "shop.toml")
    output.print("workload", "workloads", "check", "shop.toml")


def import_archives(output: Writer) -> None:
    """Import each published set with clean and with published numbers."""
    for kind, directory in ARCHIVES:
        for name, options in ((f"{directory}-clean", []), (f"{directory}-compat", ["--compat"])):
            output.print(name, "import", kind, str(ARCHIVE / directory), *options, "--name", name)


def experiments() -> Iterator[str]:
    """Yield the experiments of the results folder and of its studies, as paths below it."""
    for path in sorted(RESULTS.rglob("manifest.json")):
        if (path.parent / "slices.ndjson").is_file():
            yield str(path.parent.relative_to(RESULTS))


def main_of_script(output: Path, names: Sequence[str]) -> None:
    """Unpack, import and print; see the module."""
    for variable in ("SLOWDUST_CACHE", "SLOWDUST_DATA", "SLOWDUST_CLAIMS", "HOME"):
        os.environ[variable] = str(Path.cwd() / "nothing")
    os.environ.pop("SLOWDUST_RESULTS", None)
    unpack_experiments(RESULTS, *names)
    for path in INPUTS.iterdir():
        shutil.copy(path, path.name)
    if not names and ARCHIVE.is_dir():
        import_archives(Writer(output / "imports"))
    # The newest is listed first.
    found = list(experiments())
    for second, name in enumerate(found):
        os.utime(RESULTS / name / "manifest.json", (second, second))
    for name in found:
        write_experiment(name, Writer(output / "experiments" / name))
    for name in KINDS:
        if KINDS[name].again and name in (names or KINDS):
            write_study(name, Writer(output / "studies" / name))
    write_all(found, Writer(output / "all"))


if __name__ == "__main__":
    main_of_script(Path(sys.argv[1]), sys.argv[2:])
