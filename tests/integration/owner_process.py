"""A process with a running instance, to be killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

KILL_WATCHDOG = """
import psutil
def kill_watchdog():
    [watchdog] = [
        child for child in psutil.Process().children()
        if "slowdust.instances.watchdog" in child.cmdline()
    ]
    watchdog.kill()
    watchdog.wait()
"""
OWNER = f"""{KILL_WATCHDOG}
import sys, time
from slowdust.builds import resolve
from slowdust.dbms import family
from slowdust.instances.instance import Instance
from slowdust.instances.rundir import RunDirectory
dbms, version = sys.argv[1:3]
version, _, engine = version.partition("/")
with RunDirectory.open("child") as run:
    build = resolve(dbms, version, str)
    engine = family(dbms).choose_engine(build, engine or None)
    settings = family(dbms).settings("small", {{}}, 1, engine=engine)
    instance = Instance.create(run, "a", build, settings, engine=engine)
    if "signals" in sys.argv:
        instance.frozen_group = None
    instance.start()
    if "frozen" in sys.argv:
        instance.freeze()
    if "no-watchdog" in sys.argv:
        kill_watchdog()
    print(instance.pid, instance.target().socket, run.path, flush=True)
    time.sleep(600)
"""


def start_owner(
    dbms: str, version: str, *arguments: str
) -> tuple[subprocess.Popen[str], int, Path, Path]:
    """The owner, its server's process id, its directory of sockets and its run directory.

    An engine may follow the version: '1.24.2/postgres'.
    """
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, dbms, version, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert owner.stdout is not None
    pid, sockets, directory = owner.stdout.readline().split()
    return owner, int(pid), Path(sockets), Path(directory)
