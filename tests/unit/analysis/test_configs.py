"""Contenders whose configs match are one line."""

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.history.history import history_of
from slowdust.analysis.history.lines import Configs
from slowdust.analysis.history.model import LineHistory
from slowdust.errors import UsageError
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from tests.unit.synthetic_history import choice, experiments, single_runs

Pair = tuple[Manifest, list[Slice]]


def archived(name: str, rates: dict[str, float]) -> Pair:
    """An import of `VERSION:CONFIG+BUILD` -> throughput."""
    manifest, slices = single_runs(name, rates, tests=["scan", "hot-points"])
    for contender in manifest.contenders:
        _, _, behind = contender.name.partition("@")
        version, _, behind = behind.partition(":")
        contender.build.version = version
        contender.config = behind.partition("+")[0] or "default"
        contender.run = f"x.{contender.name}"
    return manifest, slices


def lines_of(*pairs: Pair, configs: str | None = None) -> list[LineHistory]:
    return history_of(experiments(*pairs), choice(configs=configs)).lines


def versions(line: LineHistory) -> list[str]:
    return [version.label for version in line.versions]


EACH_ITS_OWN = archived(
    "each", {"5.6.51:cz10a+rel": 1.0, "5.7.44:cz10b+rel": 0.8, "8.0.43:cz11a+rel": 0.5}
)


def test_versions_that_need_different_configs_have_one_line(snapshot: SnapshotAssertion) -> None:
    (line,) = lines_of(EACH_ITS_OWN, configs="cz10*,cz11a")

    assert line.line == "mysql:cz10*,cz11a+rel"
    assert [version.configs for version in line.versions] == [
        ["cz10a+rel"], ["cz10b+rel"], ["cz11a+rel"]
    ]  # fmt: skip
    assert versions(line) == ["5.6.51", "5.7.44", "8.0.43"]
    assert [point.ratio.value for point in line.tests[0].points] == pytest.approx([1.0, 0.8, 0.5])
    assert line.notes == snapshot


def test_others_are_skipped() -> None:
    assert versions(lines_of(EACH_ITS_OWN, configs="cz10*")[0]) == ["5.6.51", "5.7.44"]
    one_config = archived("one", {"8.0:cz11a": 1.0, "8.4:cz11a": 0.9})
    assert [version.configs for version in lines_of(one_config, configs="*")[0].versions] == [
        [],
        [],
    ]
    assert lines_of(EACH_ITS_OWN, configs="cz12*") == []


def test_without_it_configs_have_lines_of_their_own_and_the_option_is_named(
    snapshot: SnapshotAssertion,
) -> None:
    history = history_of(experiments(EACH_ITS_OWN), choice())

    assert history.lines == []
    assert history.notes == snapshot
    assert len(lines_of(EACH_ITS_OWN, configs="cz10a,cz10b,cz11a")) == 1


def test_the_option_is_not_named_where_it_would_not_help() -> None:
    allocators = archived("one", {"8.0.40:glibc+rel": 1.0, "8.0.40:jemalloc+rel": 1.1})
    apart = [archived("a", {"5.6:x": 1.0}), archived("b", {"5.7:y": 1.0})]

    for pairs in ([allocators], apart):
        notes = history_of(experiments(*pairs), choice()).notes
        assert not any("--config" in note for note in notes)


def test_a_line_with_a_history_may_be_what_a_version_alone_belongs_to(
    snapshot: SnapshotAssertion,
) -> None:
    runs = archived("runs", {"5.6:cz10a": 1.0, "8.0:cz11a": 0.8, "8.4:cz11a": 0.7})

    history = history_of(experiments(runs), choice())

    assert [versions(line) for line in history.lines] == [["8.0", "8.4"]]
    assert history.notes == snapshot


def test_how_it_was_compiled_has_to_be_the_same_unless_a_pattern_says_otherwise(
    snapshot: SnapshotAssertion,
) -> None:
    runs = archived("runs", {"5.6:cz10a+o2nofp": 1.0, "8.0:cz11a+rel_o2nofp": 0.8})

    history = history_of(experiments(runs), choice())

    assert lines_of(runs, configs="cz1*") == []
    (line,) = lines_of(runs, configs="cz1*+*o2nofp")
    assert (line.line, versions(line)) == ("mysql:cz1*+*o2nofp", ["5.6", "8.0"])
    assert history.notes[-1] == snapshot
    assert len(lines_of(runs, configs="cz10a+o2nofp,cz11a+rel_o2nofp")) == 1


def test_the_hints_command_prints_a_history_of_many_configs(
    snapshot: SnapshotAssertion,
) -> None:
    few = archived("few", {"5.6:a": 1.0, "5.7:b+rel": 0.9})
    rates = {f"8.0.{place}:c{place}+r{place}": 1.0 for place in range(1, 9)}
    many = archived("many", {"8.0.0:c0": 1.0} | rates)

    for runs, wanted in ((few, "a,b+rel"), (many, "*,*+*")):
        (hint,) = history_of(experiments(runs), choice()).notes[1:]
        assert hint == snapshot
        assert len(lines_of(runs, configs=wanted)) == 1


def test_of_several_configs_of_a_version_the_earlier_pattern_counts(
    snapshot: SnapshotAssertion,
) -> None:
    runs = archived("runs", {"5.6:a": 1.0, "5.7:a": 0.8, "5.7:b": 0.6, "8.0:b": 0.5})

    def rates(configs: str) -> list[float]:
        (line,) = lines_of(runs, configs=configs)
        return [point.ratio.value for point in line.tests[0].points]

    assert rates("a,b") == pytest.approx([1.0, 0.8, 0.5])
    assert rates("b,a") == pytest.approx([1.0, 0.6, 0.5])
    with pytest.raises(UsageError) as error:
        lines_of(runs, configs="*")
    assert str(error.value) == snapshot
    assert rates("a,*") == pytest.approx([1.0, 0.8, 0.5])


def test_several_configs_of_a_version_that_is_alone_are_no_error() -> None:
    allocators = archived("one", {"8.0.40:glibc": 1.0, "8.0.40:jemalloc": 1.1})

    assert len(lines_of(EACH_ITS_OWN, allocators, configs="*")) == 1


def test_experiments_with_different_configs_are_chained(snapshot: SnapshotAssertion) -> None:
    late = archived("late", {"8.0.43:cz11b+rel": 1.0, "9.5.0:cz11b+rel": 0.5})

    (line,) = lines_of(EACH_ITS_OWN, late, configs="cz*")

    assert versions(line) == ["5.6.51", "5.7.44", "8.0.43", "9.5.0"]
    assert line.tests[0].points[-1].ratio.value == pytest.approx(0.25)
    assert line.notes == snapshot


def test_measured_contenders_without_a_config_have_the_default_one() -> None:
    manifest, slices = single_runs("own", {"5.6": 1.0, "5.7": 0.8})
    manifest.contenders[1].config = "small"

    (line,) = lines_of((manifest, slices), configs="default,small")

    assert line.line == "mysql:default,small"
    assert versions(line) == ["5.6", "5.7"]


def test_patterns_are_written_with_commas() -> None:
    assert Configs.of("a, b*") == Configs(("a", "b*"))
