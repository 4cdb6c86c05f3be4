"""Names that are paths are refused; no file is created, changed or removed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.builds.cache import Record, compiled_folder, load
from slowdust.builds.pushed import PushedBuild, find, known
from slowdust.errors import SlowdustError, UsageError
from slowdust.fleet import build_transfer, hosts
from slowdust.fleet.build_transfer import PushedFolder
from slowdust.fleet.queue import Placement, part_folder
from slowdust.places import is_plain, within
from slowdust.store.folder import Folder, writing
from slowdust.store.manifest import BuildFacts
from slowdust.store.profile import Profile
from tests.unit.cli.command import Slowdust, spoken

ELSEWHERE = ["", ".", "..", "../precious", "../../../precious", "a/../../precious", "/precious"]
ODD = [".hidden", "x\n", "a\x1b[31m", "a\u202eb", "\udcff", "x" * 300]

_ANY_NAME = [
    "rename micro NAME",
    "merge micro slap --name NAME",
    "import bundle micro.slowdust --name NAME",
    "import sysbench precious --name NAME",
    "compare postgres@17.6 --name NAME",
    "calibrate postgres@17.6 --name NAME",
    "bisect postgres@10..18 --test point-query --name NAME --resume",
    "blame postgres@10..18 --name NAME --resume",
    "capacity postgres@17.6 --sla p99<5ms --test point-query --name NAME --resume",
    "ack NAME",
    "builds add NAME precious",
    "builds get postgres@NAME",
    "builds get postgres@NAME --from precious/file",
    "builds show postgres@NAME",
    "builds show NAME@17.6",
    "builds remove postgres@NAME",
    "builds remove NAME@17.6",
    "builds remove allocator@NAME",
    "builds get allocator@NAME",
    "watch watch.toml",
    "run spec.toml",
]
_STORED_NAME = [
    "remove NAME --yes",
    "rename NAME other",
    "bundle NAME",
    "bundle NAME -o out.slowdust",
    "note NAME text",
    "report NAME",
    "report NAME --html page.html",
    "show NAME",
    "more NAME",
    "explain NAME scan",
    "history NAME",
    "diff NAME micro",
    "diff micro NAME",
    "blame --from NAME",
    "merge NAME micro --name both",
    "run NAME --resume",
]


@pytest.fixture
def laboratory(tmp_path: Path, results: Path, slowdust: Slowdust) -> Path:
    """A directory with stored experiments, a build in the cache, and another folder."""
    assert slowdust("bundle", "micro").code == 0
    for folder in ("cache/builds/postgres/17.6", "cache/compiled/postgres", "precious", "data"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("cache/builds/postgres/17.6/build.json", "precious/file"):
        (tmp_path / file).write_text("{}")
    return tmp_path


def contents(folder: Path) -> dict[str, int]:
    """Return path -> size of all files and folders, but for locks."""
    return {
        str(path.relative_to(folder)): path.stat().st_size if path.is_file() else -1
        for path in folder.rglob("*")
        if not path.name.endswith(".lock")
    }


@pytest.mark.parametrize("command", [*_ANY_NAME, *_STORED_NAME])
def test_a_name_that_is_none_is_refused(slowdust: Slowdust, laboratory: Path, command: str) -> None:
    for name in [*ELSEWHERE, *ODD]:
        quoted = json.dumps(name)
        if name.isascii() or name.isprintable():  # else it is no text of a file
            table = f'[watch]\nname = {quoted}\nreleases = "postgres@10..18"\n'
            (laboratory / "watch.toml").write_text(table)
            spec = f'name = {quoted}\ncontenders = ["postgres@17.6", "postgres@17.5"]\n'
            (laboratory / "spec.toml").write_text(spec)
        before = contents(laboratory)
        outcome = slowdust(*(word.replace("NAME", name) for word in command.split(" ")))
        assert outcome.code == 2, (name, outcome)
        assert outcome.complaint, name
        assert contents(laboratory) == before, name


@pytest.mark.parametrize("name", ["../../../precious", "."])
def test_removing_a_build_removes_nothing_else(
    slowdust: Slowdust, laboratory: Path, name: str, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("builds", "remove", f"postgres@{name}")
    assert outcome.code == 2
    assert outcome.complaint == snapshot
    assert (laboratory / "precious/file").exists()
    assert (laboratory / "cache/builds/postgres/17.6/build.json").exists()


def test_the_folder_of_an_experiment_is_known_from_within(
    slowdust: Slowdust, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(results / "micro")
    assert slowdust("rename", ".", "night").code == 0
    assert sorted(path.name for path in results.iterdir()) == ["insert", "night", "slap"]


def test_a_profile_of_another_machine_stays_in_its_folder(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    profile = Profile(
        benchmark="micro",
        test="../../../x",
        clients=1,
        contender="a",
        source="perf",
        unit="ns",
        operations=1,
        functions=[],
    )
    with (
        pytest.raises(UsageError) as error,
        writing(Folder(tmp_path / "results/a")) as writer,
    ):
        writer.write_profile(profile, 1, None)
    assert str(error.value) == snapshot
    assert not list(tmp_path.rglob("*.json.gz"))


def test_another_machine_names_no_folder_elsewhere(
    laboratory: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    before = contents(laboratory)
    placement = Placement(shard="s001", host="../../precious", folder="s001", begun=0.0)
    folder = PushedFolder(folder="builds/postgres/a\x1b", sha256="")
    facts = BuildFacts(source="x", version="17.6")
    pushed = PushedBuild(
        name="postgres@17.6", folder="../precious", sha256="", version="17.6", facts=facts
    )
    refused: list[Callable[[], object]] = [
        lambda: hosts.forget(".."),
        lambda: part_folder(laboratory / "results", placement),
        lambda: build_transfer.put(folder, b""),
        lambda: build_transfer.packed("../precious"),
        lambda: compiled_folder("postgres", "../../../precious"),
    ]
    for call in refused:
        with pytest.raises(UsageError) as error:
            call()
        assert str(error.value) == snapshot
    with known([pushed]), pytest.raises(UsageError) as error:
        find("postgres", "17.6", None)
    assert str(error.value) == snapshot
    assert contents(laboratory) == before


def test_a_description_in_the_cache_names_no_server_elsewhere(
    slowdust: Slowdust, laboratory: Path, snapshot: SnapshotAssertion
) -> None:
    del slowdust
    record = Record(
        dbms="postgres",
        version="17.6",
        fetched="",
        server="../../../../../precious/file",
        disk_bytes=0,
        facts=BuildFacts(source="x", version="17.6"),
    )
    place = laboratory / "cache/builds/postgres/17.6/build.json"
    place.write_bytes(msgspec.json.encode(record))
    with pytest.raises(SlowdustError) as error:
        load("postgres", "17.6")
    assert str(error.value) == snapshot


def test_plain_names_are_joined(tmp_path: Path) -> None:
    assert within(tmp_path, "builds", "postgres", "17.6") == tmp_path / "builds/postgres/17.6"
    assert all(map(is_plain, ["a b", "größe", "x..y", "-", "postgres@17.6", "x" * 255]))
    for name in [*ELSEWHERE, *ODD, "a\0b"]:
        assert not is_plain(name)
        with pytest.raises(UsageError):
            within(tmp_path, "builds", name)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["site", ""], "'DIR'"),
        (["report", "micro", "--classic", ""], "'--classic'"),
        (["report", "micro", "--html", ""], "'--html'"),
        (["bundle", "micro", "-o", ""], "'--output'"),
        (["list", "--results", ""], "'--results'"),
        (["builds", "add", "mine", ""], "'DIRECTORY'"),
        (["run", ""], "path"),
        (["watch", ""], "path"),
        (["site", "results"], "results"),
        (["site", "results/micro"], "results/micro"),
        (["site", "link"], "link"),
    ],
    ids=spoken,
)
def test_an_empty_path_or_the_results_are_no_place_to_write_to(
    slowdust: Slowdust, laboratory: Path, words: list[str], named: str, snapshot: SnapshotAssertion
) -> None:
    (laboratory / "link").symlink_to("results")
    before = contents(laboratory)
    outcome = slowdust(*words)
    assert outcome.code == 2
    assert named in outcome.complaint
    assert outcome.complaint == snapshot
    assert contents(laboratory) == before


@pytest.mark.parametrize(
    "words",
    [
        "list",
        "report",
        "report micro",
        "show micro",
        "explain micro scan",
        "more micro",
        "history",
        "history micro",
        "diff micro slap",
        "bundle micro",
        "note micro",
        "rename micro other",
        "remove micro --yes",
        "site pages",
        "serve --port 0",
        "ack postgres",
        "watch watch.toml --status",
        "blame --from micro",
        "merge micro slap --name both",
        "run micro --resume",
        "calibrate --stored *",
    ],
)
def test_a_results_folder_that_is_not_there_is_named(
    slowdust: Slowdust, laboratory: Path, words: str, snapshot: SnapshotAssertion
) -> None:
    (laboratory / "watch.toml").write_text('[watch]\nname = "w"\nreleases = "postgres@10..18"\n')
    before = contents(laboratory)
    outcome = slowdust(*words.split(), "--results", laboratory / "nowhere")
    assert outcome.code == 2
    assert outcome.complaint == snapshot
    assert outcome.err.splitlines() == [outcome.complaint]
    assert contents(laboratory) == before


def test_the_usual_results_folder_may_still_be_missing(slowdust: Slowdust) -> None:
    assert slowdust("list") == (0, "", "")
    assert not list(Path().iterdir())
