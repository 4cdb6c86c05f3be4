"""A repository that builds in a second: a finished Postgres and a compiled module.

The module counts before every statement, in a server with shared_preload_libraries=counting.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slowdust.builds import Build
from tests.integration.made_history import add_commits
from tests.unit.builds.source_projects import commit, write

MODULE = "src/backend/counting.c"
FUNCTION = "count_and_run"
"""The function that counts."""
_CONFIGURE = """#!/bin/sh
source=$(cd "$(dirname "$0")" && pwd)
for part in timezone backend/utils/mb/conversion_procs backend/snowball interfaces/libpq \\
    bin/initdb pl/plpgsql/src
do
    mkdir -p src/$part
    printf 'all install:\\n' > src/$part/Makefile
done
cat > src/backend/Makefile <<END
installed = \\$(DESTDIR)/usr/local/pgsql
generated-headers:
all: counting.so
counting.so: $source/{module}
	gcc -O1 -shared -fPIC -o \\$@ \\$<
install: all
	mkdir -p \\$(installed)
	cp -R {server}/. \\$(installed)
	cp counting.so \\$(installed)/lib/postgresql
END
"""
# Without the headers of a server: what it checks of a module, and the hook of the executor.
_COUNTING = """
static const struct { int size, version, limits[3], by_value; char abi[32]; } magic =
    { sizeof(magic), {version}, { 100, 32, 64 }, 1, "PostgreSQL" };
const void *Pg_magic_func(void) { return &magic; }

typedef void run(void *query, int direction, unsigned long count, char once);
extern run *ExecutorRun_hook, standard_ExecutorRun;

void {function}(void *query, int direction, unsigned long count, char once)
{
    for (volatile int turn = 0; turn < {turns}; turn++)
        ;
    standard_ExecutorRun(query, direction, count, once);
}
void _PG_init(void) { ExecutorRun_hook = {function}; }
"""


def small_sources(folder: Path, build: Build, turns: Sequence[int]) -> Path:
    """Make a repository that installs a build of Postgres 17, with a commit for each of `turns`.

    The first commit counts to 0, and its tag is `release`.
    """

    def module(count: int) -> str:
        major = build.version.partition(".")[0]
        words = {"version": f"{major}00", "function": FUNCTION, "turns": str(count)}
        return _filled(_COUNTING, words)

    configure = _filled(_CONFIGURE, {"module": MODULE, "server": str(build.root)})
    write(folder, {"configure": configure, MODULE: module(0), "src/backend/parser/gram.c": ""})
    commit(folder, "Import the release", "release")
    add_commits(folder, MODULE, module, turns)
    return folder


def _filled(text: str, words: dict[str, str]) -> str:
    for name, word in words.items():
        text = text.replace(f"{{{name}}}", word)
    return text
