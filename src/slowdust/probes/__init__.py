"""Probes: sources of readings of a server, its host and what lies between them.

Every module of a room here that has a `probe_of` offers a probe; see `probe.py`.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from slowdust.probes.probe import FAILURES, AnyProbe, ClosedProbe, Subject
from slowdust.probes.server.process import ServerProbe

_ROOMS = ("server", "host")
"""The rooms in the order of reading. The host is read last before a window and first after it, so
that it does not count the reading of the servers, which themselves do not notice being read."""


def probes_of(subject: Subject) -> list[AnyProbe]:
    """Return a probe of each kind for a running server.

    Only that of the server's processes is essential: any other that cannot be opened is skipped in
    every window, and named. Raises OSError if the server has ended.
    """
    probes: list[AnyProbe] = []
    for room in _ROOMS:
        package = import_module(f"{__name__}.{room}")
        for entry in sorted(pkgutil.iter_modules(package.__path__), key=lambda entry: entry.name):
            module = import_module(f"{package.__name__}.{entry.name}")
            if not hasattr(module, "probe_of"):
                continue
            try:
                probes.append(module.probe_of(subject))
            except FAILURES:
                if module.__name__ == ServerProbe.__module__:
                    raise
                probes.append(ClosedProbe(entry.name))
    return probes
