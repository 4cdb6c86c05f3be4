"""Values as TOML writes them in one line; tomli-w writes tables over several and no comments."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence


def inline(value: object) -> str:
    """Return a value in one line; None, which only rows of samples have, is `[]`."""
    if value is None:
        return "[]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        # The escapes of JSON are some of those of TOML; TOML wants one for DEL, too.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{key} = {inline(part)}" for key, part in value.items())
        return f"{{ {pairs} }}"
    if isinstance(value, Sequence):
        return f"[{', '.join(inline(part) for part in value)}]"
    return repr(value)


def key(name: str) -> str:
    """Return a name as a key, in quotation marks where it wants them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else inline(name)


def block(text: str) -> str:
    if "\n" not in text:
        return inline(text)
    lines = "\n".join(inline(line)[1:-1] for line in text.split("\n"))
    return f'"""\n{lines}"""'
