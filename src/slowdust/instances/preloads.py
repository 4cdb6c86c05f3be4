"""Small libraries that are preloaded into servers, compiled when they are first needed."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path

from slowdust.builds import staging
from slowdust.builds.model import Build
from slowdust.errors import SlowdustError, UsageError
from slowdust.formats.elf import is_static
from slowdust.places import cache_root
from slowdust.temporary import becoming

COMPILER = ("cc", "-O2", "-Wall", "-fPIC", "-shared", "-ftls-model=initial-exec")
INSTALL = "sudo apt install gcc libc6-dev"


def compiled(
    name: str, purpose: str, libraries: Sequence[str] = (), package: str = "slowdust.instances"
) -> Path:
    """Return the library made of `NAME.c` in a package, from the cache where it is there.

    `purpose` is the subject of a sentence on why it cannot be made: 'a calibration'. `libraries`
    are the linker's options. The package is that of this module unless another one is named.

    Raises:
        SlowdustError: there is no C compiler, or it fails.
    """
    source = resources.files(package).joinpath(f"{name}.c").read_bytes()
    command = [*COMPILER, "-x", "c", "-"]
    digest = hashlib.sha256(source + " ".join([*command, *libraries]).encode()).hexdigest()[:16]
    library = cache_root() / "preloads" / f"{name}-{digest}.so"
    with staging.lock(library):
        if not library.exists():
            with becoming(library) as new:
                _compile([*command, "-o", str(new), *libraries], source, purpose)
                new.chmod(0o755)
    return library


def check_preloadable(build: Build, programs: Iterable[Path], purpose: str) -> None:
    """Raise UsageError when no library can be loaded into any of the programs of a server.

    `purpose` is what the library is for, as in 'the server cannot have jemalloc'.
    """
    if all(is_static(program) for program in programs):
        raise UsageError(
            f"{build.dbms} {build.facts.version} cannot {purpose}: it is a static program, into "
            "which no library can be loaded"
        )


def _compile(command: Sequence[str], source: bytes, purpose: str) -> None:
    try:
        subprocess.run(command, input=source, capture_output=True, check=True)
    except FileNotFoundError:
        raise SlowdustError(
            f"{purpose} compiles a small library, and there is no C compiler: install one, for "
            f"example by `{INSTALL}`"
        ) from None
    except subprocess.CalledProcessError as error:
        message = error.stderr.decode(errors="replace").strip()
        raise SlowdustError(
            f"the library that {purpose} needs cannot be compiled (headers are in the package "
            f"libc6-dev): {message}"
        ) from error
