"""Builds of Go programs, compiled here from their published modules.

Go fetches the modules and, unless configured otherwise, verifies them with the checksum database.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import msgspec

from slowdust.builds.catalog import Origin
from slowdust.builds.model import Progress, Unpacked
from slowdust.builds.sources.client import one_line, run_client
from slowdust.unpacking import inside

_STATIC = {"CGO_ENABLED": "0"}
"""Build without C: no C compiler or shared libraries are needed."""


class Options(msgspec.Struct, forbid_unknown_fields=True):
    """The module, and how to compile its program."""

    module: str
    package: str
    """The program's package, relative to the module: './cmd/ferretdb'."""
    program: str
    files: dict[str, str] = {}
    """Files that releases generate -> their content, with `{version}` for the version."""


class _Download(msgspec.Struct):
    """The output of `go mod download -json` for a module."""

    folder: str = msgspec.field(name="Dir")


def describe(origin: Origin) -> str:
    """Describe an origin: 'Go module github.com/FerretDB/FerretDB@v1.24.0'."""
    return f"Go module {_specifier(origin)}"


def provide(origin: Origin, folder: Path, progress: Progress) -> Unpacked:
    """Fetch a module with its dependencies, and compile its program in an empty folder."""
    options = origin.options_as(Options)
    progress(f"fetching {describe(origin)}")
    answer = run_client(["go", "mod", "download", "-json", _specifier(origin)], folder, _complaint)
    source = folder / "source"
    _copy(Path(msgspec.json.decode(answer, type=_Download).folder), source)
    for name, content in options.files.items():
        inside(source, name).write_text(content.format(version=origin.version), encoding="utf-8")
    run_client(["go", "mod", "download"], source, _complaint)
    compiler = run_client(["go", "env", "GOVERSION"], source, _complaint).strip()
    progress(f"compiling {describe(origin)} with {compiler}")
    binaries = folder / "binaries"
    program = inside(binaries, options.program)
    program.parent.mkdir(parents=True)
    build = ["go", "build", "-trimpath", "-o", str(program), options.package]
    run_client(build, source, _complaint, _STATIC)
    program.chmod(0o755)
    shutil.rmtree(source)
    return Unpacked(binaries, f"{describe(origin)}, {compiler}")


def _specifier(origin: Origin) -> str:
    return f"{origin.options_as(Options).module}@v{origin.version}"


def _copy(source: Path, target: Path) -> None:
    """Copy a module, whose files are read-only, as writable files."""
    target.mkdir()
    for path in source.iterdir():
        if path.is_dir():
            _copy(path, target / path.name)
        else:
            shutil.copyfile(path, target / path.name)


def _complaint(stdout: str, stderr: str) -> str | None:
    errors = [msgspec.json.decode(x, type=str) for x in re.findall(r'"Error": (".*")', stdout)]
    lines = [
        line
        for line in stderr.splitlines()
        if line.strip() and not line.startswith(("go: downloading", "#"))
    ]
    complaints = [*errors, *lines]
    return one_line(complaints[0].removeprefix("go: ")) if complaints else None
