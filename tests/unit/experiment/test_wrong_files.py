"""Every error of an experiment file names file, line and key, and the nearest word where one is."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.errors import UsageError
from slowdust.experiment.spec.errors import AtKeysError, File, placed
from slowdust.experiment.spec.lines import line_of
from slowdust.experiment.spec.spec import parse_spec, read_spec

PAIR = 'contenders = ["postgres@15.8", "postgres@17.6"]\n'
MATRIX = 'contenders = ["postgres@17.6"]\n[matrix]\n'
INSERT = PAIR + 'benchmark = "insert"\n[insert]\n'

WRONG = [
    # keys
    (PAIR + 'bugdet = "3m"', 2, "bugdet: there is no key 'bugdet': did you mean budget?"),
    (PAIR + "client = [1]", 2, "client: there is no key 'client': did you mean clients?"),
    (PAIR + 'Suite = "quick"', 2, "Suite: there is no key 'Suite': did you mean suite?"),
    (PAIR + "colour = 3", 2, "colour: there is no key 'colour'"),
    (PAIR + "[matrx]\nfsync = [1, 2]", 2, "matrx: there is no key 'matrx': did you mean matrix?"),
    ("rows = 5000", None, 'contenders: the key is missing: write contenders = ["postgres@15.8"'),
    (PAIR + "rate = { arrivals = 'poisson' }", 2, "per_second: the key is missing: write rate = {"),
    (
        PAIR + "rate = { per_second = 5, arival = 1 }",
        2,
        "no key 'arival': did you mean arrivals?",
    ),
    (
        'contenders = [\n "postgres@15.8",\n { nam = "x", contender = "postgres@17.6" },\n]',
        3,
        "contenders.nam: there is no key 'nam': did you mean name?",
    ),
    ('contenders = [\n "postgres@15.8",\n { name = "x" },\n]', 3, "contender: the key is missing"),
    (INSERT + "rate = [100]", 4, "insert.rate: there is no key 'rate': did you mean rates?"),
    # values of another kind
    ("contenders = 5", 1, "contenders: 5 is not a list in brackets"),
    ('contenders = "postgres@17.6"', 1, "contenders: 'postgres@17.6' is not a list in brackets"),
    ("contenders = []", 1, "contenders: the list has 0 values: write at least 1"),
    ("contenders = [17.6]", 1, "contenders: 17.6 is not a table"),
    (PAIR + "rows = true", 2, "rows: "),
    (PAIR + 'rows = "many"', 2, "rows: 'many' is not a whole number: write 5000, 20k, 1M or 1e6"),
    (PAIR + "rows = 1.5", 2, "rows: 1.5 is not a whole number"),
    (PAIR + "rows = 1_0\nrows = 5", 3, "rows is given twice"),
    (PAIR + "rows = 5", 2, "rows: 5 is out of range: write at least 100"),
    (PAIR + "tables = 5000", 2, "tables: 5000 is out of range: write at most 1,000"),
    (PAIR + "tables = 0", 2, "tables: 0 is out of range: write at least 1"),
    (PAIR + "clients = 8", 2, "clients: 8 is not a list in brackets, such as [1, 8]"),
    (PAIR + "clients = []", 2, "clients: the list has 0 values"),
    (PAIR + "clients = [\n  1,\n  0,\n]", 4, "clients: 0 is out of range: write at least 1"),
    (PAIR + "clients = [1, 8, 1]", 2, "clients: the same number of clients is given twice"),
    (PAIR + 'clients = ["some"]', 2, "clients: 'some' is not a whole number"),
    (PAIR + "seed = -1", 2, "seed: -1 is out of range: write at least 0"),
    (PAIR + "incarnations = 0", 2, "incarnations: 0 is out of range: write at least 1"),
    (PAIR + "simulate = 'perhaps'", 2, "simulate: 'perhaps' is not true or false"),
    (PAIR + "suite = 5", 2, "suite: 5 is not text in quotes"),
    (PAIR + "set = 5", 2, "set: 5 is not a table in braces"),
    (PAIR + "set = { jit = [1] }", 2, "set.jit: [1] is not text in quotes"),
    # units
    (PAIR + 'budget = "5 minutes"', 2, "budget: '5 minutes' is not a duration: write 250ms, 30s"),
    (PAIR + 'budget = "0s"', 2, "budget: '0s' is zero"),
    (PAIR + "budget = 0", 2, "budget: 0 is out of range: write more than 0"),
    (PAIR + 'slice = "5M"', 2, "slice: '5M' is not a duration"),
    (PAIR + 'margin = "wide"', 2, "margin: 'wide' is not a percentage: write 3% or 0.5%"),
    (PAIR + "margin = 3", 2, 'margin: 3 is no share of 1: write "3%"'),
    (PAIR + "margin = 0", 2, "margin: 0 is out of range: write more than 0"),
    (PAIR + 'margin = "0.03"', 2, "margin: '0.03' may mean 0.03% or 3%"),
    (PAIR + 'memory = "much"', 2, "memory: 'much' is not a size: write 64kB, 256MB"),
    (PAIR + 'memory = "1MB"', 2, "memory: 1MB is too little: write at least 64MB"),
    (PAIR + "rate = { per_second = 'fast' }", 2, "rate.per_second: 'fast' is not a number"),
    (PAIR + "rate = { per_second = 0 }", 2, "rate.per_second: 0 is out of range"),
    (PAIR + 'cpus = "two"', 2, "cpus: 'two' is no list of CPUs: write 2,3 or 0-3"),
    # words
    (PAIR + 'suite = "quik"', 2, "suite: there is no suite 'quik': did you mean quick?"),
    (
        PAIR + 'benchmark = "mirco"',
        2,
        "no benchmark 'mirco': did you mean micro?",
    ),
    (PAIR + 'tests = ["scna"]', 2, "tests: no test is called 'scna' in micro: did you mean scan?"),
    (PAIR + 'tests = [\n  "scan",\n  "point-qery",\n]', 4, "did you mean point-query?"),
    (PAIR + 'tests = ["scan", "scan"]', 2, "tests: scan is given twice"),
    (PAIR + 'tests = ["scan"]\nonly = ["scam"]', 3, "only: there is no chosen test 'scam'"),
    (PAIR + 'count = "valgrnd"', 2, "count: there is no value 'valgrnd': did you mean valgrind?"),
    (PAIR + 'rate = { per_second = 5, arrivals = "poison" }', 2, "did you mean poisson?"),
    (PAIR + 'name = "a/b"', 2, "name: 'a/b' cannot be a name: write letters, digits"),
    (PAIR + 'rows = 5000\ntests = ["read-only.10000"]', 2, "rows: read-only.10000 needs at least"),
    # contenders
    ('contenders = ["postgres"]', 1, "contenders: 'postgres' is not a contender: write DBMS@"),
    (
        'contenders = [\n "postgres@15.8",\n "postgres 17",\n]',
        3,
        "'postgres 17' is not",
    ),
    (
        'contenders = ["oracle://db"]',
        1,
        "contenders: no server can be reached by a URL with 'oracle",
    ),
    (
        'contenders = [{ contender = "a@1", name = "x" },\n { contender = "a@2", name = "x" }]',
        2,
        "contenders.name: two contenders are called 'x'",
    ),
    ('contenders = ["a@1", { contender = "a@2", name = "a@1" }]', 1, "two contenders are called"),
    ('contenders = [{ contender = "a@1", name = "a|b" }]', 1, "contenders.name: 'a|b' cannot be"),
    ('contenders = [{ contender = "a@1", slowed = 2 }]', 1, 'slowed: 2 is no share of 1: write "2'),
    ('contenders = ["a@1", { contender = "a@1", slowed = 0.03 }]', 1, "contenders: slowed: all"),
    # matrices
    (MATRIX + "fsync = []", 3, "matrix.fsync: an axis needs at least one value"),
    (MATRIX + "fsync = [1, 1]", 3, "matrix.fsync: the same value is given twice"),
    (MATRIX + "fsync = 1", 3, "matrix.fsync: "),
    (MATRIX + "a-b = [1]\na_b = [2]", 2, "matrix: a_b is given twice"),
    (MATRIX + "a = [1, 2]\nx.p = { a = 1 }\nx.q = { a = 2 }", 2, "matrix: two axes vary a"),
    ("set = { jit = 1 }\n" + MATRIX + "jit = [0, 1]", 2, "`set` fixes jit, which a matrix varies"),
    ('contenders = ["a@1:x"]\nmatrix = { config = ["y"] }', 1, "names its config already"),
    # other benchmarks
    (PAIR + "workload = 5", 2, "workload: 5 is not the path of a workload's file, in quotes"),
    (INSERT + 'workload = "quik"', 4, "insert.workload: there is no workload 'quik': did you mean"),
    (INSERT + "rates = [5, 5]", 4, "insert.rates: the same rate is given twice"),
    (INSERT + "rows_per_commit = [1]", 4, "the list has 1 values: write at least 4"),
    (INSERT + 'turns = "chunk"', 4, "insert.turns: there is no value 'chunk': did you mean chunks"),
    (INSERT + 'hold = "long"', 4, "insert.hold: 'long' is not a duration"),
    (PAIR + "[insert]\nrates = [5]", 2, "insert: the table applies only to the benchmark insert"),
    (
        PAIR + 'benchmark = "insert"\ntables = 3',
        3,
        "tables: does not apply to the",
    ),
    # syntax
    (PAIR + "budget = 10m", 2, 'budget: write budget = "10m", in quotes'),
    (PAIR + "suite = quick", 2, 'suite: write suite = "quick", in quotes'),
    (PAIR + "margin = 3%", 2, 'margin: write margin = "3%", in quotes'),
    ('contenders = ["postgres@17.6"', 1, "this is not TOML: "),
    (PAIR + "[matrix\nfsync = [1]", 2, "this is not TOML: "),
    (PAIR + "[set]\n[set]", 3, "the key or table is given twice"),
]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("text", "line", "complaint"), WRONG)
def test_errors_name_file_line_and_key(text: str, line: int | None, complaint: str) -> None:
    Path("mine.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as info:
        read_spec(Path("mine.toml"))
    [message] = str(info.value).splitlines()
    assert message.startswith("mine.toml: " if line is None else f"mine.toml:{line}: ")
    assert complaint in message


def test_there_are_many() -> None:
    assert len({text for text, _, _ in WRONG}) == len(WRONG) >= 60


def test_each_problem_has_a_line_of_its_own() -> None:
    Path("mine.toml").write_text(PAIR + "rows = 5\nbugdet = 3\n\ntables = 0", encoding="utf-8")
    with pytest.raises(UsageError) as info:
        read_spec(Path("mine.toml"))
    lines = sorted(str(info.value).splitlines())
    assert [line.split(":")[1] for line in lines] == ["2", "3", "5"]


def test_what_is_no_text_is_refused() -> None:
    Path("mine.toml").write_bytes(b"name = '\xff'")
    with pytest.raises(UsageError, match=r"mine.toml is not text in UTF-8: byte 8"):
        read_spec(Path("mine.toml"))


def test_errors_of_a_later_stage_have_their_line_too() -> None:
    text = PAIR + "set = { jit = 1 }\n[matrix]\nfsync.on = { a = 1 }\n"
    spec = parse_spec({"name": "x", "contenders": ["a@1"], "set": {"jit": 1}})
    assert spec.keys_of_setting("jit") == ("set", "jit")
    assert spec.keys_of_setting("fsync") is None
    with (
        pytest.raises(UsageError, match=r"^mine.toml:4: matrix.fsync: no such setting$"),
        placed(File(Path("mine.toml"), text)),
    ):
        raise AtKeysError("no such setting", ("matrix", "fsync"))


def test_lines_of_multiline_values() -> None:
    text = 'a = """\nb = 1\n"""\nb = [\n  # first\n  1,\n  { c = 2 },\n]\n\n[t]\nd.e = 1\n'
    paths = [("a",), ("b",), ("b", 0), ("b", 1, "c"), ("t",), ("t", "d", "e"), ("t", "x"), ("x",)]
    assert [line_of(text, path) for path in paths] == [1, 4, 6, 7, 10, 11, 10, None]
