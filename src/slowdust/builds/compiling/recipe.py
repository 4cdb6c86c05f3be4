"""The recipes of servers that are built from source."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowdust.builds.compiling.flags import FlagSet


@dataclass(frozen=True)
class Compiler:
    """The C and C++ compilers of this machine."""

    c: str
    """The path of the program."""
    cxx: str
    version: str
    """The first line that it prints about itself: 'gcc (Debian 12.2.0-14+deb12u1) 12.2.0'."""
    launcher: str | None = None
    """The path of ccache, where it is installed."""


@dataclass(frozen=True)
class Workshop:
    """The directories of one build, and what compiles there."""

    source: Path
    """The sources, which the build does not change."""
    build: Path
    """The directory of objects."""
    install: Path
    """The root of the file system that the build is installed into."""
    flags: FlagSet
    compiler: Compiler

    @property
    def jobs(self) -> str:
        """The option for as many compilers at a time as there are CPUs for this process."""
        return f"-j{len(os.sched_getaffinity(0))}"


@dataclass(frozen=True)
class Step:
    """A command, and the word for what it does."""

    phase: str
    """'configuring', 'compiling', 'installing'."""
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    preview: Sequence[str] | None = None
    """The command that prints the compilers' command lines without running them."""


@dataclass(frozen=True)
class Recipe:
    """The commands that make a server of its sources; they run in the directory of objects."""

    needs: Mapping[str, str]
    """Program -> package of Debian that brings it."""
    configure: Step
    """Runs once for a directory of objects."""
    steps: Sequence[Step]
    """Run for every revision, and compile again what has changed."""
    installed: str
    """The build's directory, relative to `Workshop.install`."""


_POSTGRES_PREFIX = "usr/local/pgsql"
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


def postgres(workshop: Workshop) -> Recipe:
    has_meson = (workshop.source / _FOR_MESON).is_file() and shutil.which("meson") is not None
    return _meson(workshop) if has_meson else _make(workshop)


def _make(workshop: Workshop) -> Recipe:
    compiler, flags = workshop.compiler, workshop.flags
    command = [
        str(workshop.source / "configure"),
        f"--prefix=/{_POSTGRES_PREFIX}",
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
        installed=_POSTGRES_PREFIX,
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
        f"--prefix=/{_POSTGRES_PREFIX}",
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
        installed=_POSTGRES_PREFIX,
    )


_MYSQL_PREFIX = "usr/local/mysql"
_NEEDS = {"cmake": "cmake", "perl": "perl"}
_COMMON = (
    f"-DCMAKE_INSTALL_PREFIX=/{_MYSQL_PREFIX}",
    "-DINSTALL_LAYOUT=STANDALONE",
    "-DWITH_UNIT_TESTS=OFF",
)
_MYSQL = ("-DWITH_ROUTER=OFF", "-DWITH_SSL=system", "-DFORCE_UNSUPPORTED_COMPILER=1")
_MARIADB = (
    # The sources are not a repository: there is nothing to update.
    "-DUPDATE_SUBMODULES=OFF",
    "-DWITH_SSL=bundled",
    "-DWITH_WSREP=OFF",
    "-DPLUGIN_MROONGA=NO",
    "-DPLUGIN_SPIDER=NO",
    "-DPLUGIN_CONNECT=NO",
    "-DPLUGIN_COLUMNSTORE=NO",
)


def mysql(workshop: Workshop) -> Recipe:
    bundled = (workshop.source / "boost").is_dir() or (
        workshop.source / "extra/boost"
    ).is_dir()  # since 8.3
    boost = () if bundled else ("-DDOWNLOAD_BOOST=1", f"-DWITH_BOOST={workshop.build / 'boost'}")
    return _cmake(workshop, (*_MYSQL, *boost))


def mariadb(workshop: Workshop) -> Recipe:
    return _cmake(workshop, _MARIADB)


def _cmake(workshop: Workshop, own: tuple[str, ...]) -> Recipe:
    ninja = shutil.which("ninja")
    build = str(workshop.build)
    return Recipe(
        needs=_NEEDS if ninja else {**_NEEDS, "make": "make"},
        configure=Step(
            "configuring",
            [
                "cmake",
                f"-S{workshop.source}",
                f"-B{build}",
                f"-G{'Ninja' if ninja else 'Unix Makefiles'}",
                *_COMMON,
                *own,
                *_compiler_options(workshop),
            ],
        ),
        steps=[
            Step("compiling", ["cmake", "--build", build, workshop.jobs]),
            Step("installing", ["cmake", "--install", build], {"DESTDIR": str(workshop.install)}),
        ],
        installed=_MYSQL_PREFIX,
    )


def _compiler_options(workshop: Workshop) -> list[str]:
    compiler, flags = workshop.compiler, workshop.flags
    # The type decides what the project defines; its own options are replaced by those of the set.
    kind = "Debug" if flags.assertions else "Release"
    options = " ".join([*flags.options, *([] if flags.assertions else ["-DNDEBUG"])])
    result = [
        f"-DCMAKE_BUILD_TYPE={kind}",
        f"-DCMAKE_C_COMPILER={compiler.c}",
        f"-DCMAKE_CXX_COMPILER={compiler.cxx}",
        f"-DCMAKE_C_FLAGS_{kind.upper()}={options}",
        f"-DCMAKE_CXX_FLAGS_{kind.upper()}={options}",
    ]
    if flags.archiver != "ar":
        result.append(f"-DCMAKE_AR={shutil.which(flags.archiver) or flags.archiver}")
    if compiler.launcher:
        result += [
            f"-DCMAKE_C_COMPILER_LAUNCHER={compiler.launcher}",
            f"-DCMAKE_CXX_COMPILER_LAUNCHER={compiler.launcher}",
        ]
    return result
