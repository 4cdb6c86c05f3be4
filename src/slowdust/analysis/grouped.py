"""The part of a joined experiment that hosts of one model of CPU measured."""

from __future__ import annotations

from msgspec.structs import replace

from slowdust.analysis.stored import Stored
from slowdust.errors import UsageError
from slowdust.wording import listing


def of_group(stored: Stored, wanted: str) -> Stored:
    """Return the records of the hosts whose CPU model has all words of `wanted`.

    Profiles are left out: they are means over all hosts.

    Raises:
        UsageError: the experiment was not joined, or not one of its models has the words.
    """
    manifest = stored.manifest
    groups = list(dict.fromkeys(host.group for host in manifest.hosts))
    if not groups:
        raise UsageError(f"--group: '{stored.name}' was measured on one host")
    words = wanted.casefold().split()
    found = [group for group in groups if all(word in group.casefold() for word in words)]
    if wanted in groups:
        found = [wanted]
    if len(found) != 1:
        which = "no model of CPU" if not found else f"{len(found)} models of CPUs"
        raise UsageError(f"--group: {which} of '{stored.name}' is '{wanted}': {listing(groups)}")
    hosts = [host for host in manifest.hosts if host.group == found[0]]
    numbers = {number for host in hosts for number in host.incarnations}
    own = replace(
        manifest,
        hosts=hosts,
        host=manifest.host | {"CPU": found[0]},
        preparations=[each for each in manifest.preparations if each.incarnation in numbers],
        recalls=[each for each in manifest.recalls if each.incarnation in numbers],
        index_sizes=[each for each in manifest.index_sizes if each.incarnation in numbers],
        counters=[each for each in manifest.counters if each.incarnation in numbers],
        failed_steps=[each for each in manifest.failed_steps if each.incarnation in numbers],
    )
    return Stored(
        own,
        [record for record in stored.slices if record.place.incarnation in numbers],
        [count for count in stored.counts if count.place.incarnation in numbers],
        waits=[window for window in stored.waits if window.place.incarnation in numbers],
    )
