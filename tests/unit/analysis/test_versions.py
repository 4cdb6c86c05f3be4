import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.versions import (
    Release,
    find_contender,
    labels_of,
    lines_of,
    parts_of,
    release_of,
    sorted_releases,
)
from slowdust.errors import UsageError
from slowdust.store.manifest import BuildFacts, Compiled, ContenderFacts


def facts(
    name: str,
    *,
    version: str = "9.7.4",
    engine: str | None = None,
    config: str = "default",
    environment: tuple[str, ...] = (),
    run: str | None = None,
) -> ContenderFacts:
    return ContenderFacts(
        name=name,
        dbms="mysql",
        build=BuildFacts(source="test", version=version, sha256=name),
        config=config,
        settings={},
        engine=engine,
        environment=list(environment),
        run=run,
    )


def test_versions_are_in_the_order_of_their_numbers_and_stages() -> None:
    written = (
        "17.6 9.6.24 devel 10.2 17 17devel 17rc1 17beta2 17beta10 8.0.0-dmr 8.0.0-rc1 8.0.0 8.0.11 "
        "9.5.0 17-patches5 17-patches10 18beta1 8.0.11-20240710-abc1234 8.0.11-20230710"
    )

    versions = [
        release.version
        for release in sorted_releases([Release(version) for version in written.split()])
    ]

    assert versions == [
        *("8.0.0-dmr", "8.0.0-rc1", "8.0.0", "8.0.11", "8.0.11-20230710"),
        *("8.0.11-20240710-abc1234", "9.5.0", "9.6.24", "10.2", "17devel", "17beta2"),
        *("17beta10", "17rc1"),
        *("17", "17-patches5", "17-patches10", "17.6", "18beta1", "devel"),
    ]


@pytest.mark.parametrize(
    ("contender", "line"),
    [
        (facts("mysql@9.7.4"), "mysql"),
        (facts("mysql@9.7.4", engine="innodb"), "mysql/innodb"),
        (facts("mysql@9.7.4/innodb:small", engine="innodb", config="small"), "mysql/innodb:small"),
        (facts("mysql@9.7.4+jemalloc", environment=("jemalloc",)), "mysql+jemalloc"),
        (facts("mysql@9.7.4 fsync=off log_bin=on"), "mysql fsync=off log_bin=on"),
        (facts("mysql@9.7.4#2"), "mysql#2"),
        (facts("./patched:small", config="small"), "mysql:small"),
        (facts("mysql@9.7.4:z11e+o2nofp", config="z11e", run="x.my974"), "mysql:z11e+o2nofp"),
        (facts("x.my974-a", config="z11e", run="x.my974-a"), "x.my974-a"),
    ],
)
def test_a_line_is_a_contender_without_its_version(contender: ContenderFacts, line: str) -> None:
    assert parts_of(contender).line == line


def test_a_directory_of_binaries_is_another_release_than_the_published_one() -> None:
    published, own = release_of(facts("mysql@9.7.4")), release_of(facts("./patched"))

    assert published != own
    assert labels_of([published, own]) == {published: "9.7.4", own: "9.7.4 ./patched"}
    assert sorted_releases([own, published]) == [published, own]


def test_releases_of_a_line_are_in_order_and_copies_are_separate() -> None:
    lines = lines_of(
        [
            facts("mysql@9.7.4"),
            facts("mysql@5.6.24", version="5.6.24"),
            facts("mysql@9.7.4#2"),
        ]
    )

    assert list(labels_of([*lines["mysql"]]).values()) == ["5.6.24", "9.7.4"]
    assert list(lines["mysql"].values()) == ["mysql@5.6.24", "mysql@9.7.4"]
    assert len(lines["mysql#2"]) == 1


@pytest.mark.parametrize(
    ("sums", "labels"),
    [
        (["aaaa1", "bbbb1"], ["18 ./own aaaa", "18 ./own bbbb"]),
        (["bbbb1", "aaaa1"], ["18 ./own bbbb", "18 ./own aaaa"]),
        (["aaaaaa1", "aaaaaa2"], ["18 ./own aaaaaa1", "18 ./own aaaaaa2"]),
        (["", "aaaa1"], ["18 ./own", "18 ./own aaaa"]),
        (["aaaa1"], ["18 ./own"]),
    ],
)
def test_rebuilt_directories_of_one_name_are_distinguished_in_order(
    sums: list[str], labels: list[str]
) -> None:
    own = [Release("18", "./own", sha256) for sha256 in sums]
    published = Release("18")

    labels_found = labels_of(sorted_releases([*own, published]))

    assert list(labels_found.items()) == [(published, "18"), *zip(own, labels, strict=True)]


@pytest.mark.parametrize("wanted", ["mysql@9.7.4:z_c32+o2", "9.7.4", "mysql@9.7.4"])
def test_a_contender_may_be_called_by_its_version(wanted: str) -> None:
    contenders = [
        facts("mysql@9.7.4:z_c32+o2", run="x.my9704_o2.z_c32.pk1"),
        facts("mysql@8.0.40:z_c32+o2", version="8.0.40", run="x.my8040_o2.z_c32.pk1"),
    ]

    assert find_contender(wanted, contenders) == "mysql@9.7.4:z_c32+o2"


def test_a_name_that_several_contenders_have_is_none(snapshot: SnapshotAssertion) -> None:
    contenders = [facts("mysql@9.7.4+jemalloc"), facts("mysql@9.7.4+tcmalloc")]

    with pytest.raises(UsageError) as error:
        find_contender("9.7.4", contenders)
    assert str(error.value) == snapshot
    with pytest.raises(UsageError) as error:
        find_contender("9.7.5", contenders)
    assert str(error.value) == snapshot
    assert find_contender("9.7.4+jemalloc", contenders) == "mysql@9.7.4+jemalloc"


def test_commits_of_one_version_are_releases_of_the_line_of_their_flags() -> None:
    def compiled(ref: str, flags: str) -> ContenderFacts:
        contender = facts(f"mysql@git:{ref}+{flags}")
        contender.build.compiled = Compiled(
            place="/src",
            content=ref,
            flags=flags,
            options=[],
            compiler="gcc",
            ref=ref,
            commit=ref * 20,
            subject="Change",
        )
        return contender

    first, second, other = compiled("aa", "o2"), compiled("bb", "o2"), compiled("aa", "o3")
    lines = lines_of([first, second, other])
    assert list(lines) == ["mysql+o2", "mysql+o3"]
    assert [release.title for release in lines["mysql+o2"]] == [
        "9.7.4 aaaaaaaaaaaa",
        "9.7.4 bbbbbbbbbbbb",
    ]
    assert find_contender("git:bb+o2", [first, second]) == second.name
