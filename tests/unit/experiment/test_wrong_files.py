"""Every error of an experiment file names file, line and key, and suggests the nearest word."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.errors import UsageError
from slowdust.experiment.spec.spec import parse_spec, read_spec
from slowdust.located_errors import AtKeysError, in_file, line_of, placed

PAIR = 'contenders = ["postgres@15.8", "postgres@17.6"]\n'
MATRIX = 'contenders = ["postgres@17.6"]\n[matrix]\n'
INSERT = PAIR + 'benchmark = "insert"\n[insert]\n'

WRONG = [
    # keys
    (PAIR + 'bugdet = "3m"', 2),
    (PAIR + "client = [1]", 2),
    (PAIR + 'Suite = "quick"', 2),
    (PAIR + "colour = 3", 2),
    (PAIR + "[matrx]\nfsync = [1, 2]", 2),
    ("rows = 5000", None),
    (PAIR + "rate = { arrivals = 'poisson' }", 2),
    (PAIR + "rate = { per_second = 5, arival = 1 }", 2),
    ('contenders = [\n "postgres@15.8",\n { nam = "x", contender = "postgres@17.6" },\n]', 3),
    ('contenders = [\n "postgres@15.8",\n { name = "x" },\n]', 3),
    (INSERT + "rate = [100]", 4),
    # values of another kind
    ("contenders = 5", 1),
    ('contenders = "postgres@17.6"', 1),
    ("contenders = []", 1),
    ("contenders = [17.6]", 1),
    (PAIR + "rows = true", 2),
    (PAIR + 'rows = "many"', 2),
    (PAIR + "rows = 1.5", 2),
    (PAIR + "rows = 1_0\nrows = 5", 3),
    (PAIR + "rows = 5", 2),
    (PAIR + "tables = 5000", 2),
    (PAIR + "tables = 0", 2),
    (PAIR + "clients = 8", 2),
    (PAIR + "clients = []", 2),
    (PAIR + "clients = [\n  1,\n  0,\n]", 4),
    (PAIR + "clients = [1, 8, 1]", 2),
    (PAIR + 'clients = ["some"]', 2),
    (PAIR + "seed = -1", 2),
    (PAIR + "incarnations = 0", 2),
    (PAIR + "simulate = 'perhaps'", 2),
    (PAIR + "suite = 5", 2),
    (PAIR + "set = 5", 2),
    (PAIR + "set = { jit = [1] }", 2),
    # units
    (PAIR + 'budget = "5 minutes"', 2),
    (PAIR + 'budget = "0s"', 2),
    (PAIR + "budget = 0", 2),
    (PAIR + 'slice = "5M"', 2),
    (PAIR + 'margin = "wide"', 2),
    (PAIR + "margin = 3", 2),
    (PAIR + "margin = 0", 2),
    (PAIR + 'margin = "0.03"', 2),
    (PAIR + 'memory = "much"', 2),
    (PAIR + 'memory = "1MB"', 2),
    (PAIR + "rate = { per_second = 'fast' }", 2),
    (PAIR + "rate = { per_second = 0 }", 2),
    (PAIR + 'cpus = "two"', 2),
    # words
    (PAIR + 'suite = "quik"', 2),
    (PAIR + 'benchmark = "mirco"', 2),
    (PAIR + 'tests = ["scna"]', 2),
    (PAIR + 'tests = [\n  "scan",\n  "point-qery",\n]', 4),
    (PAIR + 'tests = ["scan", "scan"]', 2),
    (PAIR + 'tests = ["scan"]\nonly = ["scam"]', 3),
    (PAIR + 'count = "valgrnd"', 2),
    (PAIR + 'rate = { per_second = 5, arrivals = "poison" }', 2),
    (PAIR + 'name = "a/b"', 2),
    (PAIR + 'rows = 5000\ntests = ["read-only.10000"]', 2),
    # contenders
    ('contenders = ["postgres"]', 1),
    ('contenders = [\n "postgres@15.8",\n "postgres 17",\n]', 3),
    ('contenders = ["oracle://db"]', 1),
    ('contenders = [{ contender = "a@1", name = "x" },\n { contender = "a@2", name = "x" }]', 2),
    ('contenders = ["a@1", { contender = "a@2", name = "a@1" }]', 1),
    ('contenders = [{ contender = "a@1", name = "a|b" }]', 1),
    ('contenders = [{ contender = "a@1", slowed = 2 }]', 1),
    ('contenders = ["a@1", { contender = "a@1", slowed = 0.03 }]', 1),
    # matrices
    (MATRIX + "fsync = []", 3),
    (MATRIX + "fsync = [1, 1]", 3),
    (MATRIX + "fsync = 1", 3),
    (MATRIX + "a-b = [1]\na_b = [2]", 2),
    (MATRIX + "a = [1, 2]\nx.p = { a = 1 }\nx.q = { a = 2 }", 2),
    ("set = { jit = 1 }\n" + MATRIX + "jit = [0, 1]", 2),
    ('contenders = ["a@1:x"]\nmatrix = { config = ["y"] }', 1),
    # other benchmarks
    (PAIR + "workload = 5", 2),
    (INSERT + 'workload = "quik"', 4),
    (INSERT + "rates = [5, 5]", 4),
    (INSERT + "rows_per_commit = [1]", 4),
    (INSERT + 'turns = "chunk"', 4),
    (INSERT + 'hold = "long"', 4),
    (PAIR + "[insert]\nrates = [5]", 2),
    (PAIR + 'benchmark = "insert"\ntables = 3', 3),
    # syntax
    (PAIR + "budget = 10m", 2),
    (PAIR + "suite = quick", 2),
    (PAIR + "margin = 3%", 2),
    ('contenders = ["postgres@17.6"', 1),
    (PAIR + "[matrix\nfsync = [1]", 2),
    (PAIR + "[set]\n[set]", 3),
]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def complaint(text: str, line: int | None) -> str:
    """Return the one line that is said about a file, which begins with the place."""
    Path("mine.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as info:
        read_spec(Path("mine.toml"))
    [message] = str(info.value).splitlines()
    assert message.startswith("mine.toml: " if line is None else f"mine.toml:{line}: "), message
    return message


def test_errors_name_file_line_and_key(snapshot: SnapshotAssertion) -> None:
    told = [f"{text.removeprefix(PAIR)}\n    {complaint(text, line)}" for text, line in WRONG]
    assert "\n".join(told) == snapshot


def test_each_problem_has_a_line_of_its_own() -> None:
    Path("mine.toml").write_text(PAIR + "rows = 5\nbugdet = 3\n\ntables = 0", encoding="utf-8")
    with pytest.raises(UsageError) as info:
        read_spec(Path("mine.toml"))
    lines = sorted(str(info.value).splitlines())
    assert [line.split(":")[1] for line in lines] == ["2", "3", "5"]


def test_files_that_are_not_text_are_refused() -> None:
    Path("mine.toml").write_bytes(b"name = '\xff'")
    with pytest.raises(UsageError, match=r"mine.toml .*UTF-8.* 8"):
        read_spec(Path("mine.toml"))


def test_errors_of_a_later_stage_have_their_line_too() -> None:
    text = PAIR + "set = { jit = 1 }\n[matrix]\nfsync.on = { a = 1 }\n"
    spec = parse_spec({"name": "x", "contenders": ["a@1"], "set": {"jit": 1}})
    assert spec.keys_of_setting("jit") == ("set", "jit")
    assert spec.keys_of_setting("fsync") is None
    with (
        pytest.raises(UsageError, match=r"^mine.toml:4: matrix.fsync: no such setting$"),
        placed(in_file(Path("mine.toml"), text)),
    ):
        raise AtKeysError("no such setting", ("matrix", "fsync"))


def test_lines_of_multiline_values() -> None:
    text = 'a = """\nb = 1\n"""\nb = [\n  # first\n  1,\n  { c = 2 },\n]\n\n[t]\nd.e = 1\n'
    paths = [("a",), ("b",), ("b", 0), ("b", 1, "c"), ("t",), ("t", "d", "e"), ("t", "x"), ("x",)]
    assert [line_of(text, path) for path in paths] == [1, 4, 6, 7, 10, 11, 10, None]
