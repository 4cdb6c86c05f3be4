"""Names of functions and objects, as profilers print them."""

from __future__ import annotations

import re

NO_SYMBOLS = "(no symbols)"
"""Stands for all functions of an object that have no names."""

_CLONE = re.compile(
    r"""(?:
        \s\[clone\s[^\]]*\]                                   # as a demangler prints the others
      | \.(?:part|constprop|isra|lto_priv|llvm|cold)(?:\.\d+)*
      | @@?[A-Za-z_][\w.]*                                    # version of a symbol: @@GLIBC_2.34
    )+$""",
    re.VERBOSE,
)
_QUALIFIERS = frozenset({"", " const", " &", " &&", " const &", " const &&", " volatile"})
_ADDRESS = re.compile(r"0x[0-9a-f]+$|\?\?\?$|\[unknown\]$")


def folded_name(name: str) -> str:
    """Return a function's name without what compilers append to clones of it.

    `f.part.0`, `f.constprop.1.isra.0`, `f.cold` and `f() [clone .part.0]` become `f` or `f()`.
    """
    return _CLONE.sub("", name)


def plain_name(name: str) -> str:
    """Return a demangled C++ name without return type and parameters; other names as they are.

    A function keeps this name where its parameters change, and all functions that are overloaded
    under one name share it: 'bool T::f<int>(int) const' becomes 'T::f<int>'.
    """
    end = name.rfind(")")
    if end < 0 or name[end + 1 :] not in _QUALIFIERS:
        return name
    start = _opening(name, end)
    if start <= 0 or name[:start].endswith("operator"):
        return name
    inner = name[:start]
    return inner if "operator" in inner else inner[_last_space(inner) + 1 :]


def _opening(name: str, end: int) -> int:
    """Return the position of the parenthesis that the one at `end` closes, or -1."""
    depth = 0
    for position in range(end, -1, -1):
        depth += (name[position] == ")") - (name[position] == "(")
        if depth == 0:
            return position
    return -1


def _last_space(name: str) -> int:
    """Return the position of the last space outside of brackets, or -1."""
    depth, last = 0, -1
    for position, letter in enumerate(name):
        depth += (letter in "<({[") - (letter in ">)}]")
        if letter == " " and depth == 0:
            last = position
    return last


def has_name(name: str) -> bool:
    """Return whether a function's name is one, not an address or `???` in its place."""
    return _ADDRESS.match(name) is None


def object_name(path: str) -> str:
    """Return the file name of an object, without directories: of '/usr/lib/libc.so.6' 'libc.so.6'.

    `???`, which stands for code of no file, is returned as it is.
    """
    return path.rsplit("/", 1)[-1] or "???"
