"""The commands of `slowdust` that recorded each kind of stored experiment.

A recipe is small, and has two or three contenders that differ in something. `again` are the
commands that print the answer of a study; they measure nothing, since the study is finished.

`micro`, `insert` and `slap` were recorded in schema 1, which has to stay readable: keep these, and
record what is new as a kind of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum, auto

Command = Sequence[str]


class Surroundings(StrEnum):
    """Servers that have to run while a kind is recorded."""

    NONE = auto()
    SERVERS = auto()
    """Two servers of Postgres without passwords, at the URLs `{old}` and `{new}`."""
    FLEET = auto()
    """A Ray cluster with two hosts, at `{address}`."""
    ARCHIVE = auto()
    """The published runs next to the project, in `{archive}`."""


@dataclass(frozen=True)
class Kind:
    """A kind of experiment or study."""

    commands: Sequence[Command]
    """Commands that measure, join or import it, in a folder with its `files`."""
    again: Sequence[Command] = ()
    """Commands that print the answer of the finished study."""
    files: Sequence[str] = ()
    """Files of `inputs/` that the commands read."""
    surroundings: Surroundings = Surroundings.NONE
    exit_codes: Sequence[int] = (0,)


def _words(text: str) -> Command:
    return tuple(text.split())


def _compare(name: str, contenders: str, options: str) -> Command:
    return _words(f"compare {contenders} --name {name} --yes {options}")


def _study(command: str, *formats: str) -> Kind:
    again = [f"{command} --resume {each}" for each in ("", *formats)]
    return Kind([_words(command)], again=[_words(each) for each in again])


_QUICK = "--rows 1000 --slice 25ms --incarnations 3"
_SQLITE = "sqlite@3.17.0 sqlite@3.50.2 sqlite@3.50.2:durable"
_POSTGRES = "postgres@15.8 postgres@17.6"
_TWO = f"sqlite@3.17.0 sqlite@3.50.2 {_QUICK} --budget 2s --count off"
_JOIN = _words(
    "merge merged-alpha merged-beta --name merged --host merged-alpha=alpha --host merged-beta=beta"
)

KINDS = {
    "micro": Kind(
        [
            _compare(
                "micro",
                f"{_POSTGRES} mariadb@11.4.5",
                "--tests point-query,range-covered-pk,scan,update-index,insert --clients 1,2 "
                "--rows 2000 --budget 24s --slice 100ms --incarnations 2 --count off",
            )
        ]
    ),
    "insert": Kind(
        [
            _compare(
                "insert",
                _POSTGRES,
                "--benchmark insert --rows 20000,5000,2000 --seconds 3s --rates 100,100000 "
                "--incarnations 2 --count off",
            )
        ]
    ),
    "slap": Kind(
        [
            _compare(
                "slap",
                _POSTGRES,
                "--benchmark slap --rows 2000 --budget 12s --slice 100ms --incarnations 2 "
                "--count off",
            )
        ]
    ),
    "io": Kind(
        [
            _compare(
                "io",
                f"{_POSTGRES} sqlite@3.50.2",
                "--benchmark io --pool 4MB --rows 10000 --slice 60ms --budget 8s "
                "--incarnations 2 --count off",
            )
        ]
    ),
    "htap": Kind(
        [
            _compare(
                "htap",
                _POSTGRES,
                "--benchmark htap --tests "
                "queries.beside,transactions.hold,mixed.t1q1,mixed.t0q1,mixed.t1q0 --budget 10s "
                "--incarnations 2 --warehouses 1 --rate 50 --hold 1s --count off",
            )
        ]
    ),
    "vector": Kind(
        [
            _compare(
                "vector",
                "postgres@16.2-pgvector0.6.2 postgres@16.11-pgvector0.8.1",
                "--benchmark vector --rows 800 --budget 6s --slice 25ms --incarnations 2 "
                "--count off",
            )
        ]
    ),
    "own": Kind(
        [
            _compare(
                "own",
                _SQLITE,
                "--workload shop.toml --slice 25ms --incarnations 3 --budget 4s --count off",
            )
        ],
        files=["shop.toml"],
    ),
    "url": Kind(
        [
            _compare(
                "url",
                "{old} {new}",
                "--tests point-query,update-index --rows 1000 --budget 3s --slice 25ms --count off",
            )
        ],
        surroundings=Surroundings.SERVERS,
    ),
    "sqlite": Kind(
        [
            _compare(
                "sqlite",
                _SQLITE,
                f"--tests point-query,scan,update-index,insert {_QUICK} --budget 3s --count off",
            )
        ]
    ),
    "documents": Kind(
        [
            _compare(
                "documents",
                "ferretdb@1.18.0 ferretdb@1.24.2",
                f"--tests point-query,range-notcovered-si,update-index {_QUICK} --budget 3s",
            )
        ]
    ),
    "counts": Kind(
        [
            _compare(
                "counts",
                _SQLITE,
                f"--tests point-query,update-index {_QUICK} --budget 2s --count valgrind "
                "--simulate --count-budget 2m",
            )
        ]
    ),
    "profiles": Kind(
        [
            _compare(
                "profiles",
                _POSTGRES,
                f"--tests point-query {_QUICK} --budget 2s --count off --profile",
            )
        ]
    ),
    "waits": Kind(
        [
            _compare(
                "waits",
                "mariadb@10.11.18 mariadb@11.8.9 postgres@17.6",
                f"--tests point-query,update-one --clients 4 {_QUICK} --budget 3s --count off "
                "--waits",
            )
        ]
    ),
    "capacity": _study(
        "capacity sqlite@3.17.0 sqlite@3.50.2:durable --name capacity --sla p50<20ms,errors=0 "
        "--test update-index --rows 1000 --budget 12s --trial 100ms --incarnations 2 "
        "--clients 1 --precision 10%",
        "--json",
    ),
    "bisect": _study(
        "bisect sqlite@3.24.0..3.26.0 --name bisect --test point-query --rows 1000 --budget 2s "
        "--builds 4 --count valgrind"
    ),
    "watch": Kind(
        [
            *[_words("watch watch.toml")] * 3,
            ("ack", "watch", "point-query", "--note", "its plan changed"),
        ],
        again=[_words("watch watch.toml --status")],
        files=["watch.toml"],
        exit_codes=(0, 3),
    ),
    "blame": _study(
        "blame sqlite@3.17.0..3.25.2 --name blame --every 1 --tests point-query,scan --rows 1000 "
        "--budget 3s --incarnations 2 --count valgrind",
        "--md",
        "--json",
    ),
    "calibration": Kind(
        [
            _words(
                "calibrate postgres@17.6 --name calibration --tests point-query --rows 1000 "
                "--budget 12s --trial 2s --slowed 10"
            )
        ],
        again=[_words("calibrate --stored calibration")],
    ),
    "merged": Kind(
        [
            _compare("merged-alpha", "", f"--tests point-query,scan {_TWO}"),
            _compare("merged-beta", "", f"--tests point-query,update-index {_TWO}"),
            _JOIN,
        ],
        again=[_JOIN],
    ),
    "fleet": Kind(
        [_words("run fleet.toml --fleet {address} --unfit --replicate 2 --yes")],
        files=["fleet.toml"],
        surroundings=Surroundings.FLEET,
    ),
    "imported": Kind(
        [_words("import sysbench {archive}/apr25.c48.malloc --name imported")],
        surroundings=Surroundings.ARCHIVE,
    ),
}
"""Kind -> how it is recorded. What a kind stores begins with its name."""
