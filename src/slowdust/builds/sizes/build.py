"""The sizes of a build: its server, the libraries that this needs, and the plugins."""

from __future__ import annotations

from pathlib import Path

from slowdust.builds.model import Build
from slowdust.errors import SlowdustError
from slowdust.formats import elf
from slowdust.store.sizes import BuildSizes, ServerSizes

_PLUGIN_FOLDERS = ("plugin", "postgresql")
"""Folders of a build in which every shared library is loaded on demand."""


def sizes_of(build: Build) -> BuildSizes:
    """Return the sizes of a build, from the headers of its files.

    Raises:
        SlowdustError: the server's binary is not an ELF file of 64 bits.
    """
    try:
        server = elf.read_sizes(build.server)
    except (OSError, ValueError) as error:
        raise SlowdustError(f"cannot read the sizes of {build.server}: {error}") from error
    shared = _shared_libraries(build.root)
    plugins = {path for path in shared if path.parent.name in _PLUGIN_FOLDERS}
    libraries = _linked(server.needed, {path.name: path for path in shared if path not in plugins})
    of_server = {field: getattr(server, field) for field in ServerSizes.__struct_fields__}
    files = {path.resolve() for path in plugins}
    return BuildSizes(
        dbms=build.dbms,
        version=build.version,
        source=build.source,
        server=ServerSizes(**of_server),
        libraries={name: path.stat().st_size for name, path in sorted(libraries.items())},
        plugins=len(files),
        plugin_bytes=sum(path.stat().st_size for path in files),
    )


def _shared_libraries(root: Path) -> set[Path]:
    return {path for path in root.rglob("*.so*") if path.is_file()}


def _linked(needed: tuple[str, ...], by_name: dict[str, Path]) -> dict[str, Path]:
    """Return the libraries of the build that names lead to, with those that these need."""
    linked: dict[str, Path] = {}
    names = list(needed)
    while names:
        name = names.pop()
        if name in linked or name not in by_name:
            continue
        linked[name] = by_name[name]
        try:
            names += elf.read_sizes(by_name[name]).needed
        except (OSError, ValueError):
            continue  # a script of the linker, which needs nothing
    return linked
