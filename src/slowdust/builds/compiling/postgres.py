"""The recipe of Postgres: meson from version 16 on where it is installed, else configure and make.

Only what a server and its initdb need is made by make: no contrib, no documentation, no other
client. Optional libraries are left out, so that two builds differ by their own code.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from slowdust.builds.compiling.recipe import Recipe, Step, Workshop

_PREFIX = "usr/local/pgsql"
_PARTS = (
    "backend",
    "timezone",
    "backend/utils/mb/conversion_procs",
    "backend/snowball",
    "interfaces/libpq",
    "bin/initdb",
    "pl/plpgsql/src",
)
"""Folders of `src/` of which initdb and the server are made; make adds what they depend on."""
_GENERATORS = {"bison": "bison", "flex": "flex"}
_FOR_MESON = "meson.build"
_GENERATED = "src/backend/parser/gram.c"
"""A file that archives of releases before 17 contain and repositories do not."""
# The loader finds libpq beside the programs, wherever the build is moved.
_LIBRARY_PATH = {"LD_RUN_PATH": "$ORIGIN/../lib"}


def recipe(workshop: Workshop) -> Recipe:
    """Return the commands for the sources of a workshop."""
    has_meson = (workshop.source / _FOR_MESON).is_file() and shutil.which("meson") is not None
    return _meson(workshop) if has_meson else _make(workshop)


def _make(workshop: Workshop) -> Recipe:
    compiler, flags = workshop.compiler, workshop.flags
    command = [
        str(workshop.source / "configure"),
        f"--prefix=/{_PREFIX}",
        # A later commit is compiled in the same directory: make has to know what includes what.
        "--enable-depend",
        "--disable-rpath",
        "--without-readline",
        "--without-zlib",
        *_unless_old(workshop),
        *(["--enable-cassert"] if flags.assertions else []),
        f"CC={' '.join(filter(None, (compiler.launcher, compiler.c)))}",
        f"CFLAGS={' '.join(flags.options)}",
        f"AR={flags.archiver}",
    ]
    generators = {} if (workshop.source / _GENERATED).is_file() else _GENERATORS
    return Recipe(
        needs={"make": "make", "perl": "perl", **generators},
        configure=Step("configuring", command),
        steps=[*_make_steps(workshop)],
        installed=_PREFIX,
    )


def _unless_old(workshop: Workshop) -> list[str]:
    """Return the options that configure takes from version 16 on, where ICU became the default."""
    text = (workshop.source / "configure").read_text(errors="replace", encoding="utf-8")
    return ["--without-icu"] if "--without-icu" in text else []


def _make_steps(workshop: Workshop) -> Iterator[Step]:
    # Every file includes headers that are made of the catalog.
    yield Step("compiling", ["make", "-C", "src/backend", "generated-headers"])
    for part in _PARTS:
        command = ["make", "-C", f"src/{part}", "all"]
        preview = [*command, "--dry-run", "--keep-going"]
        yield Step("compiling", [*command, workshop.jobs], _LIBRARY_PATH, preview)
    for part in _PARTS:
        # Without jobs: installing two programs at once may make the same folder.
        command = ["make", "-C", f"src/{part}", "install", f"DESTDIR={workshop.install}"]
        yield Step("installing", command, _LIBRARY_PATH)


def _meson(workshop: Workshop) -> Recipe:
    flags, compiler = workshop.flags, workshop.compiler
    command = [
        "meson",
        "setup",
        str(workshop.build),
        str(workshop.source),
        f"--prefix=/{_PREFIX}",
        # Debian's own layout of libraries is not that of a directory of binaries.
        "--libdir=lib",
        "--buildtype=plain",
        "--auto-features=disabled",
        "-Drpath=false",
        "-Ddocs=disabled",
        "-Dtap_tests=disabled",
        f"-Dc_args={' '.join(flags.options)}",
        f"-Dc_link_args={' '.join(flags.options)}",
        f"-Dcassert={'true' if flags.assertions else 'false'}",
    ]
    environment = {
        "CC": " ".join(filter(None, (compiler.launcher, compiler.c))),
        "AR": flags.archiver,
    }
    return Recipe(
        needs={"meson": "meson", "ninja": "ninja-build", "perl": "perl", **_GENERATORS},
        configure=Step("configuring", command, environment),
        steps=[
            Step("compiling", ["ninja", workshop.jobs], _LIBRARY_PATH),
            Step(
                "installing",
                ["meson", "install", "--quiet", "--no-rebuild", "--destdir", str(workshop.install)],
            ),
        ],
        installed=_PREFIX,
    )
