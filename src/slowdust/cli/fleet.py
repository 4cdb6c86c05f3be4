"""`slowdust fleet`, and experiments on a fleet."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from slowdust.analysis.results.gate import Gate
from slowdust.cli.conduct import conclude
from slowdust.errors import UsageError
from slowdust.experiment.experiment import Experiment
from slowdust.experiment.journal import StartMode
from slowdust.experiment.setup import refuse_by_name
from slowdust.experiment.spec.spec import Spec, read_spec
from slowdust.fleet import hosts, shards
from slowdust.fleet.cluster import Ask, HostFacts, HostLost
from slowdust.fleet.lab import FleetLab
from slowdust.fleet.queue import (
    Asked,
    Builds,
    State,
    Unfit,
    Wanted,
    has_record,
    read_record,
)
from slowdust.fleet.ray import connected, is_open
from slowdust.located_errors import in_file, placed
from slowdust.places import named_path
from slowdust.store.experiments import is_name
from slowdust.store.finding import Severity
from slowdust.store.folder import FLEET_SPEC_FILE, FLEET_SUFFIX, Folder, fleet_folder
from slowdust.units import Second
from slowdust.user_text import read_user_text
from slowdust.wording import counted

_FAILED = 1
_PROBLEMS_EXIST = 3
_ANSWERS_WITHIN: Second = 60.0
_REMEDY = "start the cluster with RAY_AUTH_MODE=token (docs/fleet.md)"


def status(address: str) -> int:
    with connected(address) as cluster:
        answers = cluster.ask(hosts.plain_facts, when=Ask.NOW, within=_ANSWERS_WITHIN)
    click.echo("\n".join(_table(answers)))
    return 0


def doctor(address: str) -> int:
    with connected(address) as cluster:
        answers = cluster.ask(hosts.host_facts, when=Ask.WHEN_IDLE, within=_ANSWERS_WITHIN)
    code = 0
    for host, answer in answers.items():
        if isinstance(answer, HostLost):
            click.echo(f"{host}: {answer.reason}")
            code = max(code, _FAILED)
            continue
        found = {each.severity for each in answer.findings}
        code = _PROBLEMS_EXIST if Severity.PROBLEM in found else code
        click.echo(f"{host}: {answer.cpu or 'unknown CPU'}, {answer.cpus} CPUs")
        for finding in answer.findings:
            if finding.severity in (Severity.PROBLEM, Severity.WARNING):
                click.echo(f"  {finding.severity:<8}{finding.check}: {finding.state}")
                if finding.remedy:
                    click.echo(f"            {finding.remedy}")
    return code


def calibrate(address: str, contenders: tuple[str, ...], **options: str | None) -> int:
    arguments = [*contenders]
    for name, value in options.items():
        if value is not None:
            arguments += [f"--{name}", value]
    with connected(address) as cluster:
        answers = cluster.ask(hosts.calibrated, arguments, when=Ask.WHEN_IDLE, within=None)
    failed = False
    for host, answer in answers.items():
        failed |= isinstance(answer, HostLost)
        text = answer.reason if isinstance(answer, HostLost) else answer.rstrip()
        click.echo(f"{host}:\n{text}\n")
    return _FAILED if failed else 0


def _table(answers: Mapping[str, HostFacts | HostLost]) -> list[str]:
    """Return a line for each host."""
    if not answers:
        return ["no hosts: start nodes with --resources '{\"slowdust_host\": 1}'"]
    lines = []
    for host, answer in answers.items():
        if isinstance(answer, HostLost):
            lines.append(f"{host}: {answer.reason}")
            continue
        does = f"{answer.measuring} measures" if answer.measuring else "idle"
        facts = f"{answer.cpu or 'unknown CPU'}, {answer.cpus} CPUs, "
        facts += f"{answer.free_bytes / (1 << 30):.0f} GiB free, Slowdust {answer.slowdust}"
        lines.append(f"{host}: {does}; {facts}")
        if answer.calibrated:
            lines.append(f"  calibrated {answer.calibrated}")
    groups = {a.cpu for a in answers.values() if not isinstance(a, HostLost)}
    return [*lines, f"{counted(len(answers), 'host')}, {counted(len(groups), 'CPU model')}"]


@contextmanager
def open_fleet(address: str, asked: Asked) -> Iterator[FleetLab]:
    """Connect to the cluster at an address, as a lab.

    Raises:
        UsageError: Ray is not installed, or the address is malformed.
        SlowdustError: no cluster answers there.
    """
    if is_open(address):
        click.echo(
            f"warning: anyone who reaches {address} can run programs on it: {_REMEDY}", err=True
        )
    with connected(address) as cluster:
        yield FleetLab(cluster, asked)


def run_on_fleet(
    file: str,
    results: Path,
    mode: StartMode,
    *,
    address: str,
    asked: Asked,
    gates: Sequence[Gate],
) -> int:
    """Run the experiment of a file on a fleet, write its report, print it; return the exit code.

    Raises:
        UsageError: the specification or the address is wrong.
        SlowdustError: no cluster or host can be used.
    """
    path = named_path(file)
    begun = _begun(file, results) if mode is StartMode.RESUME else None
    if begun is not None:
        path, results = begun / FLEET_SPEC_FILE, begun.parent
    spec = read_spec(path)
    if begun is not None:
        spec = spec.model_copy(update={"name": begun.name.removesuffix(FLEET_SUFFIX)})
    with placed(in_file(path, read_user_text(path))):
        shards.refuse(spec)
        refuse_by_name(spec)
        folder = fleet_folder(results, spec.name)
        if mode is StartMode.RESUME and not has_record(folder):
            raise UsageError(_nothing_to_resume(results, spec.name))
        if mode is StartMode.FRESH and has_record(folder) and read_record(folder).placements:
            raise UsageError(
                f"a fleet already measured '{spec.name}': choose another name, or resume it with "
                "--resume"
            )
        experiment = Experiment(Folder.of(results, spec.name), spec, mode)
        try:
            with open_fleet(address, asked) as lab:
                experiment.run(lab)
        except UsageError:
            raise
        except BaseException:
            if has_record(folder) and (record := read_record(folder)).placements:
                again = _command_to_resume(spec, results, address, record.wanted, gates)
                click.echo(f"the received results are kept; resume with: {again}", err=True)
            raise
    code, record = conclude(experiment, gates), read_record(folder)
    for shard, reason in record.given_up.items():
        copies = sum(each.state is State.FINISHED for each in record.of(shard))
        how = f"measured on {counted(copies, 'host')} only" if copies else "not measured"
        click.echo(f"{how}: {record.shard(shard).what}: {reason}", err=True)
    return 1 if record.given_up else code


def _begun(file: str, results: Path) -> Path | None:
    """Return the folder of a fleet's record; None if `file` is an ordinary specification.

    `file` is the experiment's name in `results`, or the path of its folder, of the record's folder
    or of the specification in it.

    Raises:
        UsageError: it is not a file, and no fleet has measured it.
    """
    path = named_path(file).absolute()
    if path.is_file():
        is_kept = path.name == FLEET_SPEC_FILE and has_record(path.parent)
        return path.parent if is_kept else None
    folder = results / file if is_name(file) else path
    if not folder.name.endswith(FLEET_SUFFIX):
        folder = fleet_folder(folder.parent, folder.name)
    if not (has_record(folder) and (folder / FLEET_SPEC_FILE).is_file()):
        raise UsageError(_nothing_to_resume(folder.parent, folder.name.removesuffix(FLEET_SUFFIX)))
    return folder


def _nothing_to_resume(results: Path, name: str) -> str:
    return f"nothing to resume: no fleet has measured '{name}' in {results}"


def _command_to_resume(
    spec: Spec, results: Path, address: str, wanted: Wanted, gates: Sequence[Gate]
) -> str:
    words = ["slowdust", "run", spec.name, "--resume", "--fleet", address]
    if wanted.hosts is not None:
        words += ["--hosts", str(wanted.hosts)]
    if wanted.replicate > 1:
        words += ["--replicate", str(wanted.replicate)]
    if wanted.builds is not Builds.PUSH:
        words += ["--builds", wanted.builds.value]
    if wanted.unfit is Unfit.USE:
        words.append("--unfit")
    for gate in gates:
        words += ["--fail-on", str(gate)]
    return shlex.join([*words, "--results", str(results)])
