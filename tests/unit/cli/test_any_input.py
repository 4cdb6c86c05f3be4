"""Any command line and any file: no traceback, no hang, exit codes 0 to 3.

Each example is a valid file, or command line, with a part replaced. More examples:
`SLOWDUST_EXAMPLES=2000 pytest tests/unit/cli/test_any_input.py`.
"""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from tests.tiers.selection import full
from tests.unit.archive.insert_files import write_runs
from tests.unit.archive.sysbench_files import RUN_A, RUN_B, Written, write_archive
from tests.unit.cli.any_input import BYTES, FEW, READ, TEXTS, VALUES, change, check
from tests.unit.cli.command import Slowdust

pytestmark = pytest.mark.usefixtures("no_hang")


@pytest.mark.parametrize("experiment", [pytest.param("micro", marks=full), "insert", "slap"])
@pytest.mark.parametrize("file", ["manifest.json", "slices.ndjson"])
def test_damaged_stores(slowdust: Slowdust, results: Path, experiment: str, file: str) -> None:
    whole = (results / experiment / file).read_text()

    @FEW
    @given(st.data())
    def damaged(data: st.DataObject) -> None:
        for name in ("e", "pages", "page.html", "units.xml", "classic", "e.slowdust"):
            for place in (results / name, Path(name)):
                shutil.rmtree(place, ignore_errors=True)
                place.unlink(missing_ok=True)
        shutil.copytree(results / experiment, results / "e")
        parts = [whole] if file == "manifest.json" else whole.splitlines()
        lines = [json.loads(part) for part in parts]
        change(data, data.draw(st.sampled_from(lines)))
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (results / "e" / file).write_text(text)
        check(slowdust, *data.draw(st.sampled_from(READ)))

    damaged()


_SPEC = """\
contenders = ["nothing@1", "nothing@2"]
tests = ["point-query"]
clients = [1, 8]
rows = 1000
budget = "5m"
slice = "50ms"
margin = "3%"
incarnations = 3

[matrix]
"set.shared_buffers" = ["16MB", "1GB"]
"""


@FEW
@given(data=st.data())
def test_any_experiment_file(slowdust: Slowdust, data: st.DataObject) -> None:
    lines = _SPEC.splitlines()
    place = data.draw(st.integers(0, len(lines) - 1))
    key = lines[place].partition(" = ")[0]
    text = data.draw(
        st.one_of(st.sampled_from([json.dumps(value) for value in VALUES]), st.text(max_size=30))
    )
    lines[place] = f"{key} = {text}"
    content = "\n".join(lines).encode(errors="replace")
    whole = data.draw(st.one_of(st.just(content), st.sampled_from(TEXTS), BYTES))
    Path("any.toml").write_bytes(whole)
    check(slowdust, "run", "any.toml", "--yes")


_WORKLOAD = """\
[tables.books]
rows = 100
primary_key = "id"
columns.id = { type = "int", by = "serial" }
columns.title = { type = "varchar(20)", by = "text", length = [3, 20] }
columns.shelf = { type = "bigint", by = "zipf", of = "books.id" }
columns.price = { type = "real", by = "uniform", low = 0.5, high = 9.75, scale = 2 }
indexes = [{ columns = ["shelf"] }]

[samples.seen]
columns = ["id", "day"]
rows = [[1, 2025-01-01], [2, []]]

[statements.find]
sql = "SELECT title FROM books WHERE id BETWEEN :ids.first AND :ids.last OR id IN (:list, :seen)"
parameters.ids = { by = "span", of = "books.id", count = 10 }
parameters.list = { by = "distinct", of = "books.id", count = 3 }
parameters.seen = { by = "sample", from = "seen.id" }
result = { rows = 1 }

[statements.add]
sql.postgres = "INSERT INTO books (id) VALUES (:id) ON CONFLICT DO NOTHING"
sql.mysql = "INSERT IGNORE INTO books (id) VALUES (:id)"
parameters.id = { by = "new", of = "books.id" }

[transactions.both]
statements = ["BEGIN", { statement = "find", repeat = 2 }, "add", "COMMIT"]

[tests.all]
mix = { both = 2, find = 1 }
"""
_SQL = st.one_of(
    st.text(max_size=40),
    st.lists(
        st.sampled_from(
            [*("SELECT", "INSERT", ":id", ":ids.first", "?", "'", '"', "`", "$$", "--", "/*", ";")]
        ),
        max_size=6,
    ).map(" ".join),
)


@FEW
@given(data=st.data())
def test_any_workload(slowdust: Slowdust, data: st.DataObject) -> None:
    value = tomllib.loads(_WORKLOAD)
    if data.draw(st.booleans()):
        value["statements"]["find"]["sql"] = data.draw(_SQL)
    for _ in range(data.draw(st.integers(0, 2))):
        change(data, value)
    try:
        text = tomli_w.dumps(value)
    except (TypeError, ValueError):  # what TOML cannot have, such as null
        text = data.draw(st.text(max_size=30))
    content = text.encode(errors="replace")
    whole = data.draw(st.one_of(st.just(content), st.sampled_from(TEXTS)))
    Path("any.toml").write_bytes(whole)
    check(slowdust, "workloads", "check", "any.toml", "--dbms", "postgres")
    check(slowdust, "tests", "--workload", "any.toml")
    check(slowdust, "compare", "nothing@1", "--workload", "any.toml", "--yes")


_LOGGED = (
    *(
        "# Time: 2026",
        "# User@Host: a",
        "SET timestamp=1;",
        "use x;",
        "SELECT 1 FROM t WHERE a = 5;",
    ),
    *(
        "UTC LOG:  duration: 0.1 ms  statement: SELECT 2",
        "\tFROM t WHERE a = 'x'",
        "DETAIL:  parameters:",
    ),
    *("LOG:  execute s: SELECT $1, $2", "DETAIL:  Parameters: $1 = 'a', $2 = NULL", "SELECT 'open"),
    *("query,calls", "digest_text\tcount_star", '"SELECT $1",5', "SELECT ?\t-1", "x", "", "\0"),
)


@FEW
@given(
    lines=st.lists(st.one_of(st.sampled_from(_LOGGED), st.text(max_size=20)), max_size=12),
    whole=st.one_of(st.none(), st.sampled_from(TEXTS), BYTES),
)
def test_any_log(slowdust: Slowdust, lines: list[str], whole: bytes | None) -> None:
    content = "\n".join(lines).encode(errors="replace")
    Path("any.log").write_bytes(content if whole is None else whole)
    Path("tables.toml").write_text(_WORKLOAD)
    Path("made.toml").unlink(missing_ok=True)
    options = ("--tables", "tables.toml", "-o", "made.toml")
    outcome = slowdust("workloads", "from", "any.log", *options)
    assert outcome.code in (0, 2), outcome
    assert "Traceback" not in outcome.err
    if outcome.code == 0:
        assert slowdust("workloads", "check", "made.toml").code == 0


_FILES = (
    *("any.slowdust", "any.toml", "any.cnf", "any.tar.gz", "any.json", "."),
    *("/dev/null", "/dev/full", "no/such", "-", "", "~nobody-here/x", "\x1b[31m"),
)


@FEW
@given(content=st.one_of(BYTES, st.sampled_from(TEXTS)), name=st.sampled_from(_FILES))
def test_any_file_where_a_file_is_expected(slowdust: Slowdust, content: bytes, name: str) -> None:
    if name.startswith("any"):
        Path(name).write_bytes(content)
    for command in (
        ("import", "bundle", name),
        ("import", "sysbench", name),
        ("import", "iibench", name),
        ("run", name, "--yes"),
        ("workloads", "check", name),
        ("workloads", "from", name, "-o", "made.toml"),
        ("report", name),
        ("show", name),
        ("history", name),
        ("builds", "add", name),
        ("builds", "get", "mysql@8.0.40", "--from", name),
        ("calibrate", name),
    ):
        check(slowdust, *command)


@pytest.mark.parametrize("kind", ["sysbench", "iibench"])
def test_any_archive(slowdust: Slowdust, tmp_path: Path, kind: str) -> None:
    archive = tmp_path / "a"
    if kind == "sysbench":
        write_archive(archive, {RUN_A: [Written()], RUN_B: [Written(rate=1200.5)]})
        slowdust("import", "sysbench", "a", "--compat")
        slowdust("report", "a", "--classic", "made")
        shutil.copytree("made", archive, dirs_exist_ok=True)
    else:
        write_runs(archive, {"8m.my5649.c1": {}, "8m.my8044.c1": {}})
    files = sorted(path for path in archive.rglob("*") if path.is_file())

    @FEW
    @given(st.data())
    def damaged(data: st.DataObject) -> None:
        shutil.rmtree(tmp_path / "b", ignore_errors=True)
        shutil.copytree(archive, tmp_path / "b")
        for path in data.draw(st.lists(st.sampled_from(files), min_size=1, max_size=3)):
            content = path.read_bytes()
            start = data.draw(st.integers(0, len(content)))
            end = data.draw(st.integers(start, len(content)))
            part = data.draw(st.one_of(BYTES, st.sampled_from(TEXTS)))
            damaged_path = tmp_path / "b" / path.relative_to(archive)
            damaged_path.write_bytes(content[:start] + part + content[end:])
        check(slowdust, "import", kind, "b", "--name", "b")
        for command in data.draw(st.lists(st.sampled_from(READ[:8]), min_size=2, max_size=2)):
            check(slowdust, *("b" if word == "e" else word for word in command))

    damaged()


_WORDS = [
    *("e", "slap", "micro", "nothing@1", "nothing@2", "nothing", "results", "--", "-x", "../x"),
    *("--tests", "--suite", "--budget", "--rows", "--set", "--count", "--margin", "--base", "--md"),
    *("--json", "--csv", "--name", "--results", "--clients", "--slice", "--seed", "--fail-on"),
    *("--bands", "--host", "--config", "--from", "--sha256", "--short", "--html", "--incarnations"),
    *(
        "0",
        "-1",
        "1e300",
        "1e999",
        "nan",
        "9" * 20,
        "5m",
        "1000h",
        "3%",
        "a=b",
        "include=/x",
        "=",
        "",
    ),
    *("\x1b[31m", "~nobody-here", "/dev/full", "x" * 5000, "é", "\udcff"),
]
_COMMANDS: tuple[list[str], ...] = (
    *(["compare"], ["run"], ["import", "sysbench"], ["import", "bundle"], ["report"]),
    *(["history"], ["list"], ["show"], ["tests"], ["builds", "list"], ["builds", "get"]),
    *(["diff"], ["site"], ["note"], ["rename"], ["remove"], ["bundle"], ["calibrate"], []),
)


@pytest.mark.usefixtures("results")
@FEW
@given(command=st.sampled_from(_COMMANDS), words=st.lists(st.sampled_from(_WORDS), max_size=6))
def test_any_command_line(slowdust: Slowdust, command: list[str], words: list[str]) -> None:
    for _ in range(6):  # the same words after several commands, which share most options
        if command in (["compare"], ["calibrate"]):
            words = ["nothing@1", *words]  # a build that there is would be measured
        check(slowdust, *command, *words)
        command = _COMMANDS[(_COMMANDS.index(command) + 3) % len(_COMMANDS)]
