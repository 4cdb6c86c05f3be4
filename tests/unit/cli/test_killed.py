"""Killed commands leave no incomplete files under final names; the next run removes the rest."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from slowdust.temporary import temporary_folder
from tests.tiers.selection import full
from tests.unit.archive.sysbench_files import RUN_A, Written, write_archive
from tests.unit.cli.command import Slowdust
from tests.unit.synthetic_hosts import NEW, keep_parts, part_of

_KILLED = """
import importlib, os, signal, sys
place, call, *sys.argv[1:] = sys.argv[1:]
module, _, path = place.partition(":")
*owners, name = path.split(".")
owner = importlib.import_module(module)
for each in owners:
    owner = getattr(owner, each)
function, calls = getattr(owner, name), []
def killed(*arguments, **named):
    calls.append(name)
    if len(calls) == int(call):
        os.kill(os.getpid(), signal.SIGKILL)
    return function(*arguments, **named)
setattr(owner, name, killed)
"""
_COMMAND = f"{_KILLED}\nfrom slowdust.cli.main import main\nmain()\n"
_TRIAL = f"""{_KILLED}
from slowdust.experiment.passes.workload_trial import try_out
try_out(None, None, None)
"""
_JAR = f"""{_KILLED}
from pathlib import Path, PurePosixPath
from slowdust.builds.sources import maven
with maven.taken_from_zip(Path(sys.argv[1]), Path(sys.argv[2])) as (file, tree):
    maven._take(file, "*.tar", PurePosixPath(), tree)
"""


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory for temporary files, of this process and of those that it starts."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def kill(code: str, place: str, call: int, arguments: Sequence[object]) -> None:
    """Run a program that kills itself in the `call`-th call of the function at a place."""
    command = [sys.executable, "-c", code, place, str(call), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, env=dict(os.environ), check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


def left_in(folder: Path) -> list[Path]:
    """Return the temporary folders of killed processes."""
    return list(folder.glob(".slowdust-tmp-*"))


class Killed(NamedTuple):
    """A command, and the call that kills it."""

    words: str
    place: str
    """The function, as MODULE:PATH."""
    parent: str
    """The folder that has the temporary one."""
    final: str
    """The file or folder that the command makes."""
    call: int = 1


_KILLS = [
    Killed("bundle slap -o out/m", "tarfile:TarFile.addfile", "out", "out/m", call=3),
    Killed("report slap --html out/page.html", "os:fsync", "out", "out/page.html"),
    Killed(
        "import bundle m.slowdust --name again",
        "slowdust.store.bundle:put_in_place",
        "results",
        "results/again",
    ),
    Killed(
        "import sysbench archive --name again",
        "slowdust.archive.files:walk",
        "scratch",
        "results/again",
    ),
    Killed(
        "merge m.slowdust b.slowdust --name both",
        "slowdust.merge.merge:check_compatibility",
        "scratch",
        "results/both",
    ),
]
_MORE_KILLS = [
    Killed("report micro --classic out/new", "os:fsync", "out/new", "out/new/qps.abs.c1.tsv"),
    Killed("site out", "os:fsync", "out/experiments", "out/index.html", call=3),
    Killed(
        "import sysbench archive --name again",
        "slowdust.store.folder:Writer.append",
        "results",
        "results/again",
    ),
]


@pytest.mark.parametrize(
    "killed",
    [
        *_KILLS,
        *(pytest.param(killed, marks=full) for killed in _MORE_KILLS),
    ],
    ids=lambda killed: killed.words,
)
def test_a_killed_command_leaves_what_the_next_run_removes(
    slowdust: Slowdust, results: Path, scratch: Path, tmp_path: Path, killed: Killed
) -> None:
    (tmp_path / "out").mkdir()
    if ".slowdust" in killed.words:
        keep_parts(
            results, part_of("a", {NEW: 0.9}, blocks=2), part_of("b", {NEW: 0.9}, blocks=2, seed=2)
        )
        for name, file in (("on-a", "m.slowdust"), ("on-b", "b.slowdust")):
            assert slowdust("bundle", name, "-o", file).code == 0
    if "archive" in killed.words:
        archive = write_archive(tmp_path / "archive", {RUN_A: [Written()]})
        with tarfile.open(archive / f"{RUN_A}.tar", "w") as packed:
            packed.add(archive / RUN_A, RUN_A)
        shutil.rmtree(archive / RUN_A)
    kill(_COMMAND, killed.place, killed.call, killed.words.split())
    assert not (tmp_path / killed.final).exists()
    assert len(left_in(tmp_path / killed.parent)) == 1
    again = slowdust(*killed.words.split())
    assert again.code == 0, again
    assert (tmp_path / killed.final).exists()
    assert left_in(tmp_path / killed.parent) == left_in(scratch) == []


def test_a_killed_trial_of_a_workload_leaves_what_the_next_run_removes(scratch: Path) -> None:
    kill(_TRIAL, "slowdust.experiment.experiment:Experiment.create", 1, [])
    assert len(left_in(scratch)) == 1
    with temporary_folder():
        pass
    assert left_in(scratch) == []


def test_a_killed_unpacking_of_a_jar_leaves_what_the_next_run_removes(
    scratch: Path, tmp_path: Path
) -> None:
    jar = tmp_path / "x.jar"
    with zipfile.ZipFile(jar, "w") as file:
        file.writestr("inside.tar", b"x" * 100_000)
    kill(_JAR, "slowdust.unpacking:Tree.add", 1, [jar, tmp_path / "binaries"])
    assert len(list(scratch.rglob("inside.tar"))) == 1
    with temporary_folder():
        pass
    assert left_in(scratch) == []
