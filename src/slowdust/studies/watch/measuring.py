"""The experiment of a night: base, last good and new subject side by side, on real servers."""

from __future__ import annotations

import hashlib

import msgspec

from slowdust.analysis.history.lines import circumstances_of, host_of
from slowdust.analysis.results.failures import failed_wholly, sentences_about_failures
from slowdust.analysis.results.log_ratio import WORK
from slowdust.errors import UsageError
from slowdust.experiment.experiment import Experiment
from slowdust.probes.server.procfs import read_text
from slowdust.store.manifest import Manifest
from slowdust.studies.engine import Order, Unfit
from slowdust.studies.watch.decision import RULES
from slowdust.studies.watch.file import Watch
from slowdust.studies.watch.series import Measured, Night, Tonight
from slowdust.wording import first_line

_MACHINE = "/etc/machine-id"
_MOVING_LEVELS = ("Kernel", "Microcode")
"""Facts of a host that may move how a subject compares with the base."""
_DIGITS = 12


def order_of(watch: Watch, tonight: Tonight) -> Order:
    """Return the experiment of a night: base, last good and new subject side by side."""
    contenders = [tonight.base, tonight.subject.contender]
    if tonight.good is not None and tonight.good.contender != tonight.base:
        contenders.insert(1, tonight.good.contender)
    return Order(
        watch.spec(tonight.experiment, contenders),
        tonight,
        builds={len(contenders) - 1: watch.spec("build", [tonight.subject.contender])},
    )


def night_of(watch: Watch, tonight: Tonight, found: Experiment | Unfit) -> Night:
    """Return what a night has measured.

    A subject that cannot be built, or a server that does not run, is a night that failed.

    Raises:
        UsageError: the file or the host is wrong, and not the subject.
    """
    if isinstance(found, Unfit):
        if isinstance(found.error, UsageError):
            raise found.error
        return Night(plan=tonight, failed=found.reason)
    manifest, report = found.stored.manifest, found.report()
    for contender in manifest.contenders:
        if contender.failed:
            return Night(plan=tonight, failed=first_line(contender.failed))
    # Where the base is the last good subject, the place before the new one is its.
    good = None if tonight.good is None else manifest.contenders[-2].name
    measured = _measured(found, manifest.contenders[-1].name, good)
    failures = sentences_about_failures(report)
    if not measured:
        failed = " ".join(failures) or "no test of it can be compared with the base"
        return Night(plan=tonight, failed=failed)
    host = watch.table.host or _host(manifest)
    return Night(
        plan=tonight,
        host=host,
        segment=_segment(host, manifest),
        measured=measured,
        failures=failures,
        failed_wholly=failed_wholly(report),
    )


def _host(manifest: Manifest) -> str:
    """Return a host by its facts and the machine's own name."""
    facts = [value for _, value in host_of(manifest.host)]
    facts += [manifest.host[label] for label in _MOVING_LEVELS if label in manifest.host]
    if machine := read_text(_MACHINE):
        facts.append(f"machine {_digest(machine)[:6]}")
    return ", ".join(facts)


def _segment(host: str, manifest: Manifest) -> str:
    """Return a digest of all that levels depend on: host, base, data and settings."""
    base = manifest.contenders[0]
    compiled = base.build.compiled
    workload = manifest.workload
    conditions = (
        host,
        base.name,
        None if compiled is None else compiled.commit,
        base.settings,
        circumstances_of(manifest, "").data,
        None if workload is None else workload.sha256,
        manifest.cpus,
        manifest.method.rate,
        manifest.method.memory_bytes,
        manifest.method.pool_bytes,
    )
    return _digest(msgspec.json.encode(conditions).decode())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _measured(experiment: Experiment, subject: str, good: str | None) -> list[Measured]:
    """Return the costs of the subject in each test: time, and work where it was counted."""
    manifest = experiment.stored.manifest
    measured = []
    for metric in RULES:
        levels = experiment.log_ratios(subject, manifest.base, metric)
        direct = {} if good is None else experiment.log_ratios(subject, good, metric)
        measured += [
            Measured(
                test=test,
                clients=clients,
                metric=metric,
                base=base,
                good=direct.get((test, clients)),
            )
            for (test, clients), base in levels.items()
            # Work is counted once, with one client.
            if metric != WORK or clients == min(manifest.clients)
        ]
    places = {
        (result.test, result.clients): n for n, result in enumerate(experiment.report().results)
    }
    return sorted(measured, key=lambda each: places[each.test, each.clients])
