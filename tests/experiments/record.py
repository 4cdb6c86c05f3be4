"""Record stored experiments again: `python -m tests.experiments.record KIND...`.

Files that no output needs are skipped: logs of servers, pages, locks, and the results that the
hosts of a fleet sent.
Paths and names of the machine are replaced, and large files are compressed.
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from slowdust.builds import resolve
from slowdust.dbms.access import Access, Auth, Listen
from tests.experiments.kinds import KINDS, Kind, Surroundings
from tests.experiments.stored import ARCHIVE, INPUTS, STORED
from tests.integration.fleet_of_nodes import running_fleet
from tests.integration.running_servers import Running
from tests.integration.servers import new_instance
from tests.integration.slowdust_command import COMMAND

_KEPT = ("*.toml", "*.json", "*.ndjson", "*.json.gz")
_LEFT_OUT = ("*.fleet/hosts/*", "*.fleet/fleet.toml", "bisect/steps/step-*/perf/*")
"""The merged experiment has the hosts' results; answers have only the functions that changed."""
_LARGE = 3000
"""Smallest file to compress, in bytes."""
_KERNEL = re.compile(r"(?<=\b\d\.\d\d\.\d\d)-[\w.-]+\b")
"""The suffix of a kernel's version that its vendor added."""
_MACHINE_ID = re.compile(r"\bmachine [0-9a-f]{6}\b")


def record(name: str) -> None:
    """Measure a kind, and put what it stores in place of what is stored of it.

    Raises:
        CalledProcessError: a command failed.
    """
    kind = KINDS[name]
    with ExitStack() as stack:
        # Servers' accounts have to enter it.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="record-")))
        folder.chmod(0o755)
        words, variables = stack.enter_context(_surroundings(kind))
        for file in kind.files:
            shutil.copy(INPUTS / file, folder)
        for command in kind.commands:
            filled = [word.format_map(words) for word in command]
            print(f"slowdust {' '.join(filled)}", flush=True)
            ended = subprocess.run(
                [COMMAND, *filled], cwd=folder, env={**os.environ, **variables}, check=False
            )
            if ended.returncode not in kind.exit_codes:
                raise subprocess.CalledProcessError(ended.returncode, filled)
        for path in STORED.glob(f"{name}*"):
            shutil.rmtree(path)
        for path in (folder / "results").glob(f"{name}*"):
            _store(path, folder)
    size = sum(path.stat().st_size for path in STORED.glob(f"{name}*/**/*") if path.is_file())
    print(f"{name}: {size / 1000:.1f} kB", flush=True)


def _store(source: Path, workplace: Path) -> None:
    """Copy what is needed of a folder of results."""
    for pattern in _KEPT:
        for path in sorted(source.rglob(pattern)):
            below = path.relative_to(workplace / "results")
            if any(fnmatchcase(str(below), each) for each in _LEFT_OUT):
                continue
            content = path.read_bytes()
            if path.suffix == ".gz":
                content = gzip.decompress(content)
            content = _without_machine(content.decode(), workplace).encode()
            if path.suffix == ".gz" or len(content) > _LARGE:
                content = gzip.compress(content, 9, mtime=0)
                below = below if path.suffix == ".gz" else below.with_name(f"{below.name}.gz")
            (STORED / below).parent.mkdir(parents=True, exist_ok=True)
            (STORED / below).write_bytes(content)


def _without_machine(text: str, workplace: Path) -> str:
    for path in (workplace.resolve(), workplace, ARCHIVE):
        text = text.replace(f"{path}/", "")
    return _MACHINE_ID.sub("machine 000000", _KERNEL.sub("", text))


@contextmanager
def _surroundings(kind: Kind) -> Iterator[tuple[Mapping[str, str], Mapping[str, str]]]:
    """Start what has to run; the words of commands, and variables of their environment."""
    if kind.surroundings == Surroundings.SERVERS:
        with ExitStack() as stack:
            yield {name: stack.enter_context(_server(name)) for name in ("old", "new")}, {}
    elif kind.surroundings == Surroundings.FLEET:
        with running_fleet() as fleet:
            fleet.has("a", "b")
            yield {"address": fleet.address}, fleet.workplace.environment
    else:
        yield {"archive": str(ARCHIVE)}, {}


@contextmanager
def _server(name: str) -> Iterator[str]:
    """Start a Postgres; its URL, with its password in the environment."""
    build = resolve("postgres", {"old": "15.8", "new": "17.6"}[name], print)
    access = Access.make(Listen.LOOPBACK, Auth.TRUST)
    with new_instance(build, {"synchronous_commit": "off"}, access=access) as instance:
        instance.start()
        yield Running(instance.target()).url()


def main() -> int:
    """Record the kinds that are named; return the exit code."""
    parser = argparse.ArgumentParser(prog="tests.experiments.record", description=__doc__)
    parser.add_argument("kinds", nargs="+", choices=KINDS, metavar="KIND", help=", ".join(KINDS))
    for name in parser.parse_args().kinds:
        record(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
