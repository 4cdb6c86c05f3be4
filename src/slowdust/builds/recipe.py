"""Recipes for compiling servers, named flag sets, and the compilers of this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowdust.errors import HostError, SlowdustError, UsageError
from slowdust.store.manifest import BuildFacts


@dataclass(frozen=True)
class FlagSet:
    """Options for the C and C++ compilers, and their purpose."""

    name: str
    options: tuple[str, ...]
    purpose: str
    assertions: bool = False
    """Whether the server's assertions are enabled."""
    archiver: str = "ar"
    """The program that makes static libraries from the compiler's objects."""
    across_files: bool = False
    """Whether it needs a program of several files."""


FLAG_SETS = {
    flags.name: flags
    for flags in (
        FlagSet("o2", ("-O2",), "as in Linux distributions"),
        FlagSet(
            "o2nofp",
            ("-O2", "-fno-omit-frame-pointer"),
            "-O2 with frame pointers, for cheap call stacks",
        ),
        FlagSet("o3", ("-O3",), "more inlining and vectorized loops"),
        FlagSet(
            "lto",
            ("-O2", "-flto=auto"),
            "-O2 with link-time optimization across files",
            archiver="gcc-ar",
            across_files=True,
        ),
        FlagSet(
            "debug",
            ("-Og", "-g", "-fno-omit-frame-pointer"),
            "symbols, frame pointers and the server's assertions",
            assertions=True,
        ),
    )
}
DEFAULT_FLAGS = "o2"


def flag_set(name: str) -> FlagSet:
    if name not in FLAG_SETS:
        raise UsageError(f"unknown flags {name!r}: choose {', '.join(FLAG_SETS)}")
    return FLAG_SETS[name]


def with_flags(version: str, facts: BuildFacts) -> str:
    """Return a version with its flag set, unless that is the default."""
    flags = facts.compiled.flags if facts.compiled else DEFAULT_FLAGS
    return version if flags == DEFAULT_FLAGS else f"{version}+{flags}"


_LOOKED_AT = 200
"""Lines at the end of a log that are searched for the reason of a failure."""
_REMEDIES = (
    (r"C compiler cannot create executables|stdio\.h: No such file", "gcc libc6-dev"),
    (r"No CMAKE_CXX_COMPILER could be found|CMAKE_CXX_COMPILER-NOTFOUND", "g++"),
    (r"[Cc]urses (?:library )?not found|Could NOT find Curses|curses\.h", "libncurses-dev"),
    (r"Cannot find (?:appropriate )?system libraries for SSL|Could NOT find OpenSSL", "libssl-dev"),
    (r"Could NOT find GnuTLS|gnutls/gnutls\.h", "libgnutls28-dev"),
    (r"Could NOT find BISON|\bbison\b.*(?:missing|not found|required)", "bison"),
    (r"\bflex\b.*(?:missing|not found|required)", "flex"),
    (r"rpc/rpc\.h|Could not find rpc|libtirpc", "libtirpc-dev"),
    (r"rpcgen", "rpcsvc-proto"),
    (r"libaio\.h|Could NOT find.*[Aa]io|aio library", "libaio-dev"),
    (r"ICU library not found", "libicu-dev"),
    (r"readline library not found", "libreadline-dev"),
    (r"zlib library not found|Could NOT find ZLIB", "zlib1g-dev"),
    (r"[Pp]kg-config not found|Could NOT find PkgConfig", "pkg-config"),
    (r"lto-wrapper|plugin needed to handle lto", "gcc binutils"),
)
"""Pattern in a log -> Debian packages."""


def check_programs(needs: Mapping[str, str]) -> None:
    """Raise HostError if a program is not installed; `needs` is program -> package."""
    absent = [program for program in needs if shutil.which(program) is None]
    if absent:
        packages = " ".join(dict.fromkeys(needs[program] for program in absent))
        raise HostError(
            f"building from source needs {', '.join(absent)}, not installed here: run for example "
            f"`sudo apt install {packages}`"
        )


def remedy(log: Sequence[str]) -> str | None:
    """Return a hint what to install, from the last lines of a log, if any."""
    text = "\n".join(log[-_LOOKED_AT:])
    for pattern, packages in _REMEDIES:
        if re.search(pattern, text):
            return f"try `sudo apt install {packages}`"
    return None


_C, _CXX = "gcc", "g++"
_PACKAGES = {_C: "gcc libc6-dev", _CXX: "g++", "clang": "clang", "clang++": "clang"}


def find_compiler() -> Compiler:
    """Return the compilers in the variables CC and CXX, by default gcc and g++.

    Raises SlowdustError if one is not installed or does not run.
    """
    c, cxx = _program("CC", _C), _program("CXX", _CXX)
    check_programs({program: _PACKAGES.get(program, program) for program in (c, cxx)})
    versions = dict.fromkeys((_version(c), _version(cxx)))
    return Compiler(
        c=_path(c),
        cxx=_path(cxx),
        version=" and ".join(versions),
        launcher=shutil.which("ccache"),
    )


def _program(variable: str, default: str) -> str:
    program = os.environ.get(variable) or default
    if len(program.split()) > 1:
        raise SlowdustError(
            f"{variable}={program}: write one program without options; use --flags for options"
        )
    return program


def _path(program: str) -> str:
    path = shutil.which(program)
    assert path is not None
    return path


def _version(program: str) -> str:
    done = subprocess.run(
        [program, "--version"], capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    if done.returncode != 0 or not done.stdout.strip():
        raise SlowdustError(f"the compiler {program} does not print its version: set CC to another")
    return done.stdout.splitlines()[0].strip()


@dataclass(frozen=True)
class Compiler:
    """The C and C++ compilers of this machine."""

    c: str
    cxx: str
    version: str
    """The first line of its version: 'gcc (Debian 12.2.0-14+deb12u1) 12.2.0'."""
    launcher: str | None = None


@dataclass(frozen=True)
class Workspace:
    """The directories of one build, its flags and compiler."""

    source: Path
    """The sources, which the build does not modify."""
    build: Path
    install: Path
    """The root directory to install into (DESTDIR)."""
    flags: FlagSet
    compiler: Compiler

    @property
    def jobs(self) -> str:
        """The option for one job per CPU of this process."""
        return f"-j{len(os.sched_getaffinity(0))}"


@dataclass(frozen=True)
class Step:
    """A command and its phase."""

    phase: str
    """'configuring', 'compiling', 'installing'."""
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    preview: Sequence[str] | None = None
    """The command that prints the compilers' command lines without running them."""


@dataclass(frozen=True)
class Recipe:
    """The commands that compile a server; they run in `Workspace.build`."""

    needs: Mapping[str, str]
    configure: Step
    """Runs once for a build directory."""
    steps: Sequence[Step]
    """Run for every revision, and recompile changed files."""
    installed: str
    """The path of the installed build in `Workspace.install`."""


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
"""Folders of `src/` with initdb and the server; make adds their dependencies."""
_GENERATORS = {"bison": "bison", "flex": "flex"}
_FOR_MESON = "meson.build"
_GENERATED = "src/backend/parser/gram.c"
"""A generated file that release archives before 17 contain."""
# The loader finds libpq relative to the programs, so that the build can be moved.
_LIBRARY_PATH = {"LD_RUN_PATH": "$ORIGIN/../lib"}


_MESON_INSTALL = ("meson", "install", "--quiet", "--no-rebuild", "--destdir")


def postgres(workspace: Workspace) -> Recipe:
    has_meson = (workspace.source / _FOR_MESON).is_file() and shutil.which("meson") is not None
    return _meson(workspace) if has_meson else _make(workspace)


def _make(workspace: Workspace) -> Recipe:
    compiler, flags = workspace.compiler, workspace.flags
    text = (workspace.source / "configure").read_text(errors="replace", encoding="utf-8")
    command = [
        str(workspace.source / "configure"),
        f"--prefix=/{_POSTGRES_PREFIX}",
        # Later commits are compiled in the same directory: make needs header dependencies.
        "--enable-depend",
        "--disable-rpath",
        "--without-readline",
        "--without-zlib",
        *(["--without-icu"] if "--without-icu" in text else []),
        *(["--enable-cassert"] if flags.assertions else []),
        f"CC={' '.join(filter(None, (compiler.launcher, compiler.c)))}",
        f"CFLAGS={' '.join(flags.options)}",
        f"AR={flags.archiver}",
    ]
    generators = {} if (workspace.source / _GENERATED).is_file() else _GENERATORS
    return Recipe(
        needs={"make": "make", "perl": "perl", **generators},
        configure=Step("configuring", command),
        steps=[*_make_steps(workspace)],
        installed=_POSTGRES_PREFIX,
    )


def _make_steps(workspace: Workspace) -> Iterator[Step]:
    # All files include headers that are generated from the catalog.
    yield Step("compiling", ["make", "-C", "src/backend", "generated-headers"])
    for part in _PARTS:
        command = ["make", "-C", f"src/{part}", "all"]
        preview = [*command, "--dry-run", "--keep-going"]
        yield Step("compiling", [*command, workspace.jobs], _LIBRARY_PATH, preview)
    for part in _PARTS:
        # Without -j: two programs may create the same folder at the same time.
        command = ["make", "-C", f"src/{part}", "install", f"DESTDIR={workspace.install}"]
        yield Step("installing", command, _LIBRARY_PATH)


def _meson(workspace: Workspace) -> Recipe:
    flags, compiler = workspace.flags, workspace.compiler
    command = [
        "meson",
        "setup",
        str(workspace.build),
        str(workspace.source),
        f"--prefix=/{_POSTGRES_PREFIX}",
        # On Debian the default is a folder for the architecture.
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
            Step("compiling", ["ninja", workspace.jobs], _LIBRARY_PATH),
            Step(
                "installing",
                [*_MESON_INSTALL, str(workspace.install)],
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
    # The sources are not a repository, so submodules cannot be updated.
    "-DUPDATE_SUBMODULES=OFF",
    "-DWITH_SSL=bundled",
    "-DWITH_WSREP=OFF",
    "-DPLUGIN_MROONGA=NO",
    "-DPLUGIN_SPIDER=NO",
    "-DPLUGIN_CONNECT=NO",
    "-DPLUGIN_COLUMNSTORE=NO",
)


def mysql(workspace: Workspace) -> Recipe:
    bundled = (workspace.source / "boost").is_dir() or (
        workspace.source / "extra/boost"
    ).is_dir()  # since 8.3
    boost = () if bundled else ("-DDOWNLOAD_BOOST=1", f"-DWITH_BOOST={workspace.build / 'boost'}")
    return _cmake(workspace, (*_MYSQL, *boost))


def mariadb(workspace: Workspace) -> Recipe:
    return _cmake(workspace, _MARIADB)


def _cmake(workspace: Workspace, own: tuple[str, ...]) -> Recipe:
    ninja = shutil.which("ninja")
    build = str(workspace.build)
    return Recipe(
        needs=_NEEDS if ninja else {**_NEEDS, "make": "make"},
        configure=Step(
            "configuring",
            [
                "cmake",
                f"-S{workspace.source}",
                f"-B{build}",
                f"-G{'Ninja' if ninja else 'Unix Makefiles'}",
                *_COMMON,
                *own,
                *_compiler_options(workspace),
            ],
        ),
        steps=[
            Step("compiling", ["cmake", "--build", build, workspace.jobs]),
            Step("installing", ["cmake", "--install", build], {"DESTDIR": str(workspace.install)}),
        ],
        installed=_MYSQL_PREFIX,
    )


def _compiler_options(workspace: Workspace) -> list[str]:
    compiler, flags = workspace.compiler, workspace.flags
    # The build type decides the project's definitions; the flag set replaces its compiler options.
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
