"""Conditions of two experiments that are not the same, beside what they measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slowdust.analysis.diff.model import Condition
from slowdust.analysis.history.circumstances import hosts_in_words, normalised_fact
from slowdust.analysis.results.contenders import describe_method
from slowdust.store.manifest import ContenderFacts, Manifest

_RESULTS_OF_MEASURING = ("slice",)
"""Facts of the method that an experiment finds out by itself, unless they were given."""
_NEVER_TWICE = ("Load average", "Free disk", "Steal since start")
"""Facts of the host that are of one moment, and never twice the same."""


def changed_conditions(before: Manifest, after: Manifest) -> list[Condition]:
    """Return what differs: method, host, then contenders that both experiments have."""
    return [
        *_changed("method", _method(before), _method(after)),
        *_changed("host", _host(before), _host(after)),
        *_changed_contenders(before, after),
    ]


def _method(manifest: Manifest) -> dict[str, str]:
    found_out = _RESULTS_OF_MEASURING if manifest.method.slice_s is None else ()
    facts = describe_method(manifest)
    return {
        **{label: value for label, value in facts.items() if label not in found_out},
        **({"CPUs to measure on": ", ".join(map(str, manifest.cpus))} if manifest.cpus else {}),
    }


def _host(manifest: Manifest) -> dict[str, str]:
    hosts = {"Hosts": hosts_in_words(manifest)} if manifest.hosts else {}
    return hosts | {
        label: normalised_fact(label, value)
        for label, value in manifest.host.items()
        if label not in _NEVER_TWICE
    }


def _changed_contenders(before: Manifest, after: Manifest) -> Iterator[Condition]:
    later = {facts.name: facts for facts in after.contenders}
    for facts in before.contenders:
        if facts.name in later:
            other = later[facts.name]
            yield from _changed(facts.name, _contender(facts), _contender(other))
            yield from _changed(facts.name, *_in_force(facts, other))


def _in_force(before: ContenderFacts, after: ContenderFacts) -> list[dict[str, str]]:
    """Return what both servers answered, of settings that both were given alike."""
    asked = before.settings_in_force.keys() & after.settings_in_force.keys()
    alike = [
        name for name in sorted(asked) if before.settings.get(name) == after.settings.get(name)
    ]
    return [
        {f"{name}, in force": facts.settings_in_force[name] for name in alike}
        for facts in (before, after)
    ]


def _contender(facts: ContenderFacts) -> dict[str, str]:
    """Return label -> value of all that makes a contender what it is, as it was given."""
    build = facts.build
    compiled = build.compiled
    named = {
        "version": build.version,
        "source": build.source,
        "sha256": build.sha256,
        "commit": compiled and compiled.commit,
        "compiler": compiled and compiled.compiler,
        "engine": facts.engine,
        "config": facts.config,
        "environment": " ".join(facts.environment),
        "allocator": facts.allocator,
        "failed": facts.failed,
        **facts.settings,
    }
    return {label: value for label, value in named.items() if value}


def _changed(
    subject: str, before: Mapping[str, str], after: Mapping[str, str]
) -> Iterator[Condition]:
    for label in dict.fromkeys((*before, *after)):
        earlier, later = before.get(label), after.get(label)
        if earlier != later:
            yield Condition(subject=subject, label=label, before=earlier, after=later)
