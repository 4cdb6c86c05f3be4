"""The answer: what a reader has to know before anything else."""

from __future__ import annotations

import msgspec


class Answer(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Six lines at most; one that does not apply is empty, and absent from JSON."""

    failures: str = ""
    """Tests of which 1% of the executions or more failed or had a wrong result, with the error."""
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
