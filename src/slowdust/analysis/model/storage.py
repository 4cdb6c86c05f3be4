"""What a test of data beyond the page cache takes of the storage, beside what the storage gives."""

from __future__ import annotations

from typing import Literal

import msgspec


class StorageUse(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Use of the storage by one test on one contender."""

    data_per_pool: float | None = None
    """Size of tables and indexes after their load / that of the server's page cache."""
    from_device: float | None = None
    """Share of the bytes that the server's reading calls returned which came from storage; the rest
    was in the kernel's memory."""
    reads_per_s: float | None = None
    """Pages per second that the server read from storage."""
    disk_reads_per_s: float | None = None
    """Pages per second that the driver read directly from the same file, with as many threads as
    there are clients, beside the slices; absent for tests that write."""
    of_disk: float | None = None
    """The first of these two / the second, paired slice by slice."""
    of_disk_low: float | None = None
    of_disk_high: float | None = None
    """95% interval of `of_disk`, which the moments of the incarnations have a part in: whether two
    contenders differ is told by `share_ratio`."""
    share_ratio: float | None = None
    """`of_disk` / the base's, paired block by block; absent for the base."""
    share_low: float | None = None
    share_high: float | None = None
    """95% interval of `share_ratio`."""
    share_verdict: Literal["less", "more", "same", "unsure"] | None = None
    """Verdict on `share_ratio`; absent for the base."""
    written_kb: float | None = None
    """KB written per operation from the beginning of the step until nothing was left to be written,
    all operations of the step included; absent for tests that only read."""
    log_kb: float | None = None
    """KB of the server's log among these, by its own count; absent where it does not count them."""
    written_ratio: float | None = None
    """`written_kb` / the base's, paired by incarnation; 1 for the base."""
    written_low: float | None = None
    written_high: float | None = None
    """95% interval of `written_ratio`."""
    written_verdict: Literal["less", "more", "same", "unsure"] | None = None
    """Verdict on `written_ratio`; absent for the base."""
