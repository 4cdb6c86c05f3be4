"""Sizes of ELF files, read from their headers without running or copying them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from slowdust.store.sizes import ServerSizes

_SECTION_HEADER_BYTES = 64
_FUNCTION = 2
"""STT_FUNC of the ELF specification."""
_UNDEFINED = 0
"""SHN_UNDEF: a symbol defined in another file."""
_DROPPED_TYPES = ("SHT_SYMTAB", "SHT_REL", "SHT_RELA", "SHT_STRTAB", "SHT_NULL", "SHT_GROUP")
"""Types of sections outside the memory image that a stripped file lacks."""
_DEBUG = (".debug", ".zdebug", ".gdb_index", ".stab", ".line", ".gnu.debuglto_")
_MAGIC = b"\x7fELF"


def is_elf(path: Path) -> bool:
    """Return whether a file begins like ELF files; raise OSError if it cannot be read."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def is_static(path: Path) -> bool:
    """Return whether a file is a program that does not use the dynamic loader.

    Raises OSError if it cannot be read.
    """
    if not is_elf(path):
        return False
    with path.open("rb") as file:
        segments = ELFFile(file).iter_segments()
        return not any(segment["p_type"] == "PT_DYNAMIC" for segment in segments)


def read_sizes(path: Path) -> tuple[ServerSizes, tuple[str, ...]]:
    """Read the sizes of a 64-bit ELF file, and the names of its shared libraries.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not a 64-bit ELF file, or damaged.
    """
    try:
        with path.open("rb") as file:
            elf = ELFFile(file)
            if elf.elfclass != 64:
                raise ValueError(f"{path} is not a 64-bit ELF file")
            return _sizes(elf, path.stat().st_size), _needed(elf)
    except ELFError as error:
        raise ValueError(f"{path} is not a readable ELF file: {error}") from error


def _sizes(elf: Any, file_bytes: int) -> ServerSizes:  # noqa: ANN401 - the library has no types
    sections = list(elf.iter_sections())
    loaded = [section for section in sections if section["sh_flags"] & SH_FLAGS.SHF_ALLOC]
    written = [section for section in loaded if section["sh_flags"] & SH_FLAGS.SHF_WRITE]
    code = [section for section in loaded if section["sh_flags"] & SH_FLAGS.SHF_EXECINSTR]
    debug = [section for section in sections if section.name.startswith(_DEBUG)]
    code_bytes, loaded_bytes, written_bytes, debug_bytes = (
        sum(section["sh_size"] for section in of) for of in (code, loaded, written, debug)
    )
    bss = sum(each["sh_size"] for each in written if each["sh_type"] == "SHT_NOBITS")
    symbols, functions = _symbols(elf)
    return ServerSizes(
        file_bytes=file_bytes,
        stripped_bytes=_stripped(elf, sections),
        code_bytes=code_bytes,
        text_bytes=loaded_bytes - written_bytes,
        data_bytes=written_bytes - bss,
        bss_bytes=bss,
        debug_bytes=debug_bytes,
        symbols=symbols,
        functions=functions,
    )


def _needed(elf: Any) -> tuple[str, ...]:  # noqa: ANN401
    dynamic = elf.get_section_by_name(".dynamic")
    if dynamic is None or dynamic["sh_type"] == "SHT_NOBITS":
        return ()
    return tuple(tag.needed for tag in dynamic.iter_tags("DT_NEEDED"))


def _stripped(elf: Any, sections: list[Any]) -> int:  # noqa: ANN401
    """Return the size after strip(1), which does not move the memory image.

    The kept sections, their names and the section table follow the memory image.
    """
    end = max(
        (header["p_offset"] + header["p_filesz"] for header in elf.iter_segments()),
        default=elf["e_ehsize"],
    )
    kept = [section for section in sections if section["sh_flags"] & SH_FLAGS.SHF_ALLOC]
    for section in sections:
        outside = not section["sh_flags"] & SH_FLAGS.SHF_ALLOC
        if outside and not (
            section["sh_type"] in _DROPPED_TYPES or section.name.startswith(_DEBUG)
        ):
            end = _aligned(end, section["sh_addralign"]) + section["sh_size"]
            kept.append(section)
    names = {*(section.name for section in kept), ".shstrtab"}
    # In the table of names '.text' shares the end of '.rela.text'.
    own = {name for name in names if not any(o != name and o.endswith(name) for o in names)}
    end += 1 + sum(len(name) + 1 for name in own)
    return _aligned(end, 8) + (len(kept) + 2) * _SECTION_HEADER_BYTES


def _aligned(offset: int, alignment: int) -> int:
    return -(-offset // max(alignment, 1)) * max(alignment, 1)


def _symbols(elf: Any) -> tuple[int | None, int | None]:  # noqa: ANN401
    """Return the numbers of defined symbols and of functions; None without a symbol table."""
    table = elf.get_section_by_name(".symtab")
    if table is None:
        return None, None
    order = "<" if elf.little_endian else ">"
    layout = np.dtype(
        [("name", f"{order}u4"), ("info", "u1"), ("other", "u1"), ("section", f"{order}u2"),
         ("value", f"{order}u8"), ("size", f"{order}u8")]
    )  # fmt: skip
    symbols = np.frombuffer(table.data(), dtype=layout)
    defined = symbols["section"] != _UNDEFINED
    functions = defined & (symbols["info"] % 16 == _FUNCTION)
    return int(defined.sum()), int(functions.sum())
