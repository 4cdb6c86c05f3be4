"""The run of an experiment on a fleet from the command line."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from pathlib import Path

import click

from slowdust.analysis.results.failures import failed_wholly
from slowdust.analysis.results.gate import Gate
from slowdust.analysis.stored import read_stored
from slowdust.builds.handed_on import known
from slowdust.cli.gates import exit_code_of
from slowdust.errors import SlowdustError, UsageError
from slowdust.experiment.journal import StartMode
from slowdust.experiment.live import watching
from slowdust.experiment.setup import refuse_by_name, resolve_contenders
from slowdust.experiment.spec.errors import File, placed
from slowdust.experiment.spec.spec import Spec, read_spec
from slowdust.fleet.address import is_open
from slowdust.fleet.building.compiling import compile_builds
from slowdust.fleet.building.handing import folders_of, named_builds
from slowdust.fleet.cluster import RayCluster, Turn, connected
from slowdust.fleet.hosts.fitness import Unfit
from slowdust.fleet.hosts.shard import plain_facts
from slowdust.fleet.model import Cluster, HostFacts
from slowdust.fleet.planning.cutting import refuse
from slowdust.fleet.record import Asked, Builds, Record, State, Wanted, has_record
from slowdust.fleet.run import held, measure, prepare
from slowdust.fleet.view import watching_fleet
from slowdust.joining.hosts import told_apart
from slowdust.joining.join import join
from slowdust.joining.parts import Part
from slowdust.places import named_path
from slowdust.report import html, terminal
from slowdust.store.folder import Folder, replace_file
from slowdust.store.keeping.experiments import is_name
from slowdust.store.of_fleet import FLEET_SPEC_FILE, FLEET_SUFFIX, fleet_folder
from slowdust.units import Second, format_duration
from slowdust.user_text import read_user_text
from slowdust.wording import counted

_HOSTS_WITHIN: Second = 30.0
"""Time that the first host has to be there."""
_FACTS_WITHIN: Second = 10.0
"""Time that hosts have for what they keep of calibrations, the start of a process included."""
_REMEDY = "start the cluster with RAY_AUTH_MODE=token (docs/fleet.md)"


def conduct_fleet(
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
        UsageError: the specification or the address makes no sense.
        SlowdustError: no cluster or host can be used.
    """
    path = named_path(file)
    begun = _begun(file, results) if mode is StartMode.RESUME else None
    if begun is not None:
        path, results = begun / FLEET_SPEC_FILE, begun.parent
    spec = read_spec(path)
    if begun is not None:
        spec = spec.model_copy(update={"name": begun.name.removesuffix(FLEET_SUFFIX)})
    origin = File(path, read_user_text(path))
    with placed(origin):
        refuse(spec)
        refuse_by_name(spec)
    if mode is StartMode.RESUME and not has_record(fleet_folder(results, spec.name)):
        raise UsageError(_nothing_to_resume(results, spec.name))
    if is_open(address):
        click.echo(
            f"warning: whoever reaches {address} can run programs there: {_REMEDY}", err=True
        )
    with connected(address) as cluster:
        hosts = _count_hosts(cluster, address)
        folder = fleet_folder(results, spec.name)
        with held(folder):
            facts = _plain_facts(cluster) if mode is StartMode.FRESH else []
            record = prepare(spec, results, asked, hosts, mode, facts=facts)
            click.echo(f"experiment {spec.name} in {results / spec.name}", err=True)
            click.echo(_plan(record, hosts), err=True)
            if record.wanted.builds is Builds.PUSH:
                with placed(origin):
                    _hand_on_builds(spec, cluster)
            again = _again(spec, results, address, record.wanted, gates)
            target = _run(spec, results, record, cluster, again)
    return _show(target, record, gates)


def _begun(file: str, results: Path) -> Path | None:
    """Return the folder of a fleet's record that a user means; None for another specification.

    `file` is the experiment's name in `results`, or the path of its folder, of that of the record
    or of the specification in it.

    Raises:
        UsageError: it is no file, and no fleet has measured it.
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
    return f"there is nothing to resume: no fleet has measured '{name}' in {results}"


def _count_hosts(cluster: Cluster, address: str) -> int:
    """Return the number of hosts, once there is one.

    Raises:
        SlowdustError: there is none for a while.
    """
    end = cluster.now() + _HOSTS_WITHIN
    while not (hosts := len(cluster.hosts())):
        if cluster.now() > end:
            raise SlowdustError(
                f"no node of the cluster at {address} measures: start some by `ray start "
                "--resources '{\"slowdust_host\": 1}'`"
            )
        time.sleep(1.0)
    return hosts


def _plain_facts(cluster: RayCluster) -> list[HostFacts]:
    """Return what hosts say before the plan is made; those that do not answer soon are unknown."""
    answers = cluster.ask(plain_facts, turn=Turn.NOW, within=_FACTS_WITHIN)
    return [answer for answer in answers.values() if isinstance(answer, HostFacts)]


def _hand_on_builds(spec: Spec, cluster: RayCluster) -> None:
    """Get all builds of an experiment, those that are compiled by nodes, and hand them on."""
    with watching_fleet() as fleet_view:
        compiled = compile_builds(spec, cluster, fleet_view)
    with known(compiled), watching() as view:
        contenders = resolve_contenders(spec, view)
        builds = named_builds(spec, contenders, view.phase)
    cluster.hand_on(folders_of(contenders, builds), builds)


def _plan(record: Record, hosts: int) -> str:
    wanted = record.wanted
    where = "one host" if wanted.replicate == 1 else f"{wanted.replicate} hosts of one CPU model"
    total = sum(shard.seconds for shard in record.shards) * wanted.replicate
    calibrated = record.sizing.hosts
    sized = f"; sized by the calibrations of {counted(calibrated, 'host')}" if calibrated else ""
    return (
        f"{counted(len(record.shards), 'shard')}, each on {where}: "
        f"{format_duration(round(total))} of hosts' time; {counted(hosts, 'host')} there{sized}"
    )


def _again(spec: Spec, results: Path, address: str, wanted: Wanted, gates: Sequence[Gate]) -> str:
    """Return the command that goes on with an experiment."""
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


def _run(spec: Spec, results: Path, record: Record, cluster: Cluster, again: str) -> Folder:
    try:
        with watching_fleet() as view:
            return measure(spec, results, record, cluster=cluster, view=view, join=_join)
    except BaseException:
        if record.placements:
            click.echo(f"what was received is kept; continue with: {again}", err=True)
        raise


def _join(parts: Sequence[tuple[str, Folder]], target: Folder) -> None:
    join(told_apart([Part(folder, host=host) for host, folder in parts]), target)


def _show(target: Folder, record: Record, gates: Sequence[Gate]) -> int:
    stored = read_stored(target)
    report = stored.report()
    page = target.path / "report.html"
    replace_file(page, html.render(report, stored.slices, stored.profiles).encode())
    terminal.show(report)
    click.echo(f"report: {page}", err=True)
    for shard, reason in record.given_up.items():
        copies = sum(each.state is State.FINISHED for each in record.of(shard))
        how = f"measured on {counted(copies, 'host')} only" if copies else "not measured"
        click.echo(f"{how}: {record.cuts[shard].words()}: {reason}", err=True)
    dropped_out = any(contender.failed for contender in stored.manifest.contenders)
    failed = dropped_out or stored.manifest.failed_steps or failed_wholly(report)
    return 1 if record.given_up or failed else exit_code_of(gates, report)
