"""Damage of an archived file."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

_WORDS = (b"nan", b"inf", b"-1", b"1e999", b"", b"0", b"NA", b"\xff", b"1.2.3", b"\0", b"9" * 5000)


def damage(path: Path, rng: random.Random, names: Sequence[str]) -> None:
    """Cut a file, replace its cells, mix its lines, write them twice, or delete or rename it.

    `names` are those that it may get.
    """
    content = path.read_bytes()
    separator = rng.choice([b"\t", b" ", b","])
    cells = content.split(separator)
    for _ in range(3):
        cells[rng.randrange(len(cells))] = rng.choice(_WORDS)
    lines = content.splitlines(keepends=True)
    rng.shuffle(lines)
    match rng.randrange(6):
        case 0:
            path.write_bytes(content[: rng.randrange(len(content) + 1)])
        case 1:
            path.write_bytes(separator.join(cells))
        case 2:
            path.write_bytes(b"".join(lines))
        case 3:
            path.write_bytes(content + content)
        case 4:
            path.rename(path.with_name(rng.choice(names)))
        case _:
            path.unlink()
