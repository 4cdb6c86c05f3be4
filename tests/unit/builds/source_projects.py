"""Small projects that build like the servers: with configure and make, and with cmake."""

from __future__ import annotations

import subprocess
from pathlib import Path

CONFIGURE = """#!/bin/sh
source=$(dirname "$0")
for argument in "$@"; do
    case $argument in CFLAGS=*) cflags=${argument#CFLAGS=};; esac
done
for part in timezone backend/utils/mb/conversion_procs backend/snowball interfaces/libpq \\
    bin/initdb pl/plpgsql/src
do
    mkdir -p src/$part
    printf 'all:\\ninstall:\\n' > src/$part/Makefile
done
cat > src/backend/Makefile <<END
objects = main.o version.o
all: postgres
generated-headers:
%.o: $source/src/backend/%.c
	gcc $cflags -c -o \\$@ \\$<
postgres: \\$(objects)
	gcc -o \\$@ \\$(objects)
install: all
	mkdir -p \\$(DESTDIR)/usr/local/pgsql/bin
	cp postgres \\$(DESTDIR)/usr/local/pgsql/bin
END
"""
MAIN = """#include <stdio.h>
extern const char *version;
int main(void) { printf("postgres (PostgreSQL) %s\\n", version); return 0; }
"""
VERSION = 'const char *version = "15.18";\n'
CMAKE = """cmake_minimum_required(VERSION 3.18)
project(server C CXX)
add_executable(mysqld sql/main.cc)
install(TARGETS mysqld DESTINATION bin)
"""
MYSQLD = """#include <cstdio>
int main() {
#ifdef NDEBUG
    std::puts("mysqld  Ver VERSION for Linux on x86_64 (Source)");
#endif
}
"""
"""A server that prints its version only if it is compiled without assertions."""


def write(folder: Path, files: dict[str, str]) -> None:
    """Write files below a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if text.startswith("#!") else 0o644)


def postgres_sources(folder: Path) -> Path:
    """Write a server of two files that is built as Postgres is."""
    write(
        folder,
        {
            "configure": CONFIGURE,
            "src/backend/main.c": MAIN,
            "src/backend/version.c": VERSION,
            "src/backend/parser/gram.c": "",
        },
    )
    return folder


def mysqld_sources(folder: Path, version: str) -> Path:
    """Write a server of one file that is built as MySQL and MariaDB are."""
    main = MYSQLD.replace("VERSION", version)
    write(folder, {"CMakeLists.txt": CMAKE, "sql/main.cc": main, "boost/keep": ""})
    return folder


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder, as a person who has a name."""
    who = ["-c", "user.name=Test", "-c", "user.email=test@localhost"]
    others = ["-c", "init.defaultBranch=master", "-c", "protocol.file.allow=always"]
    command = ["git", "-C", str(folder), *who, *others, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit(folder: Path, subject: str, tag: str) -> str:
    """Commit all files of a folder, give the commit a tag, and return its hash."""
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet")
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", subject)
    git(folder, "tag", tag)
    return git(folder, "rev-parse", "HEAD")
