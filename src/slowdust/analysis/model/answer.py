"""The answer: what a reader has to know before anything else."""

from __future__ import annotations

import msgspec


class Answer(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Five sentences at most; one that does not apply is empty, and absent from JSON."""

    conditions: str = ""
    """What was measured: clients, rows and MB beside the cache, durability, the host."""
    slower: str = ""
    """What is slower or more work beyond doubt, by at least how much, in which tests."""
    faster: str = ""
    """What is faster or less work beyond doubt."""
    rest: str = ""
    """How much slower and how much faster any other test can still be."""
    next: str = ""
    """What to type next."""
