"""Sizes of builds and of build trees."""

from __future__ import annotations

import msgspec


class ServerSizes(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Sizes of a server's binary, in bytes."""

    file_bytes: int
    stripped_bytes: int
    """Size without symbols and debug information."""
    code_bytes: int
    """Executable sections: .text, .plt, ..."""
    text_bytes: int
    """Loaded read-only sections, as in size(1): code and constants."""
    data_bytes: int
    bss_bytes: int
    """Zero-initialised data, which takes no space in the file."""
    debug_bytes: int
    symbols: int | None = None
    """Defined symbols; like the next, absent if the binary is stripped."""
    functions: int | None = None


class BuildSizes(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Sizes of a build."""

    dbms: str
    version: str
    source: str
    server: ServerSizes
    libraries: dict[str, int] = {}
    """Shared library of the build that its server is linked with -> bytes."""
    plugins: int = 0
    plugin_bytes: int = 0


class ObjectFile(msgspec.Struct, kw_only=True):
    """An object file or static library."""

    path: str
    """Path relative to the tree."""
    bytes: int


class ObjectFolder(msgspec.Struct, kw_only=True):
    """Object files and static libraries of a directory, at any depth."""

    path: str
    objects: int
    object_bytes: int
    libraries: int
    library_bytes: int


class TreeSizes(msgspec.Struct, kw_only=True):
    """Object files and static libraries of a build tree."""

    directory: str
    total: ObjectFolder
    folders: list[ObjectFolder]
    """The top-level directories of the tree, the largest first."""
    largest: list[ObjectFile]
