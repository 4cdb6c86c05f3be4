"""Probes: sources of readings of a server, its host and the programs between them.

Every module in a subpackage that has a `open_probe` provides a probe; see `probe.py`.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from slowdust.probes.probe import FAILURES, AnyProbe, ClosedProbe, Subject
from slowdust.probes.server.process import ServerProbe

_ROOMS = ("server", "host")
"""The subpackages in the order of reading. The host is read last before a window and first after
it, so that its counters exclude the reading of the servers. Servers do not notice being read."""


def open_probes(subject: Subject) -> list[AnyProbe]:
    """Return a probe of each kind for a running server.

    Only the probe of the server's processes is essential: any other that cannot be opened is listed
    as skipped in every window. Raises OSError if the server has exited.
    """
    probes: list[AnyProbe] = []
    for room in _ROOMS:
        package = import_module(f"{__name__}.{room}")
        for entry in sorted(pkgutil.iter_modules(package.__path__), key=lambda entry: entry.name):
            module = import_module(f"{package.__name__}.{entry.name}")
            if not hasattr(module, "open_probe"):
                continue
            try:
                probes.append(module.open_probe(subject))
            except FAILURES:
                if module.__name__ == ServerProbe.__module__:
                    raise
                probes.append(ClosedProbe(entry.name))
    return probes
