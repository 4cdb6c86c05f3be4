"""ARCHITECTURE.md and docs/decisions name files, functions, tests and contracts that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "ARCHITECTURE.md"
DECISIONS = ROOT / "docs/decisions"
PAGES = [PAGE, *sorted(DECISIONS.glob("*.md"))]
MOST_BYTES = 10 * 1024
STATION = re.compile(r"^\| `([\w/.]+)` \| `(\w+)` \|", re.MULTILINE)
MOST_STATIONS = 15


def found(path: str) -> Path | None:
    """Return a file or folder of the repository, or of the package; None if it does not exist."""
    places = (ROOT / path, ROOT / "src/slowdust" / path)
    return next((place for place in places if place.exists()), None)


def defines(place: Path, name: str) -> bool:
    definition = re.compile(rf"^\s*(?:pub )?(?:def|class|fn|struct) {name}\b", re.MULTILINE)
    files = [place] if place.is_file() else [*place.rglob("*.py"), *place.rglob("*.rs")]
    return any(definition.search(file.read_text()) for file in files)


def test_the_page_is_short() -> None:
    assert len(PAGE.read_bytes()) <= MOST_BYTES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_paths_exist(page: Path) -> None:
    text = page.read_text()
    named = re.findall(r"`([\w.-]+/[\w./-]*|[\w-]+\.(?:py|md|toml|rs))`", text)
    linked = re.findall(r"\]\(([^)#:]+)", text)
    missing = [path for path in named if found(path) is None]
    missing += [path for path in linked if not (page.parent / path).exists()]
    assert missing == []


def test_every_station_is_defined_at_its_place() -> None:
    for section in PAGE.read_text().split("## Two paths")[1].split("A step of a bisection:"):
        stations = STATION.findall(section)
        assert 5 < len(stations) == len(set(stations)) <= MOST_STATIONS
        for path, name in stations:
            place = found(path)
            assert place is not None and defines(place, name), (path, name)


def test_every_contract_is_one_of_import_linter() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    named = [
        name
        for line in re.findall(r"[Cc]ontracts? (\"[^.;:]+)", PAGE.read_text().replace("\n", " "))
        for name in re.findall(r'"([^"]+)"', line)
    ]
    assert named
    assert [name for name in named if f'name = "{name}"' not in project] == []


def test_every_decision_is_in_the_list_with_its_parts() -> None:
    listed = re.findall(r"\]\(([\w-]+\.md)\) (.+)", (DECISIONS / "README.md").read_text())
    pages = [page for page in PAGES if page.name[:4].isdecimal()]
    assert listed == [(page.name, page.read_text().splitlines()[0][2:]) for page in pages]
    for page in pages:
        parts = re.findall(r"^\*\*(\w+)\.\*\*", page.read_text(), re.MULTILINE)
        assert parts[:4] == ["Context", "Decision", "Alternatives", "Consequences"], page.name
