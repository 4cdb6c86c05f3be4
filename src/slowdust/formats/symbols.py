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
_ADDRESS = re.compile(r"0x[0-9a-f]+$|\?\?\?$|\[unknown\]$")


def folded_name(name: str) -> str:
    """Return a function's name without what compilers append to clones of it.

    `f.part.0`, `f.constprop.1.isra.0`, `f.cold` and `f() [clone .part.0]` become `f` or `f()`.
    """
    return _CLONE.sub("", name)


def has_name(name: str) -> bool:
    """Return whether a function's name is one, not an address or `???` in its place."""
    return _ADDRESS.match(name) is None


def object_name(path: str) -> str:
    """Return the file name of an object, without directories: of '/usr/lib/libc.so.6' 'libc.so.6'.

    `???`, which stands for code of no file, is returned as it is.
    """
    return path.rsplit("/", 1)[-1] or "???"
