"""The recipes of MySQL and MariaDB: cmake, with ninja where it is installed."""

from __future__ import annotations

import shutil

from slowdust.builds.compiling.recipe import Recipe, Step, Workshop

_PREFIX = "usr/local/mysql"
_NEEDS = {"cmake": "cmake", "perl": "perl"}
_COMMON = (
    f"-DCMAKE_INSTALL_PREFIX=/{_PREFIX}",
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
    """Return the commands for the sources of MySQL in a workshop."""
    bundled = (workshop.source / "boost").is_dir() or (
        workshop.source / "extra/boost"
    ).is_dir()  # since 8.3
    boost = () if bundled else ("-DDOWNLOAD_BOOST=1", f"-DWITH_BOOST={workshop.build / 'boost'}")
    return _recipe(workshop, (*_MYSQL, *boost))


def mariadb(workshop: Workshop) -> Recipe:
    """Return the commands for the sources of MariaDB in a workshop."""
    return _recipe(workshop, _MARIADB)


def _recipe(workshop: Workshop, own: tuple[str, ...]) -> Recipe:
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
                *_compiler(workshop),
            ],
        ),
        steps=[
            Step("compiling", ["cmake", "--build", build, workshop.jobs]),
            Step("installing", ["cmake", "--install", build], {"DESTDIR": str(workshop.install)}),
        ],
        installed=_PREFIX,
    )


def _compiler(workshop: Workshop) -> list[str]:
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
