"""README, docs and the Containerfile agree with the catalog and the sources."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slowdust.builds.catalog import find_catalog, version_parts

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
DOCS = ROOT / "docs"
CONTAINERFILE = (ROOT / "Containerfile").read_text()


def series(dbms: str, version: str) -> str:
    """Return the series of a version as it is spoken of: 17 of Postgres, 8.0 of the others."""
    return ".".join(map(str, version_parts(version)[: 1 if dbms == "postgres" else 2]))


PAGES = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("dbms", ["Postgres", "MySQL", "MariaDB"])
def test_the_range_of_versions_is_the_catalogs(dbms: str) -> None:
    versions = [entry.server_version for entry in find_catalog(dbms.lower()).entries]
    first, last = (series(dbms.lower(), version) for version in (versions[0], versions[-1]))
    assert re.search(rf"\b{dbms} {re.escape(first)} to {re.escape(last)}[, ]", README)


def test_the_versions_without_a_published_checksum_are_the_vendors_archives() -> None:
    entries = find_catalog("mysql").entries
    archived = [e.version for e in entries if all(o.kind == "archive" for o in e.origins)]
    first, last = series("mysql", archived[0]), series("mysql", archived[-1])
    builds = (DOCS / "builds.md").read_text()
    assert f"no SHA-256 for MySQL {first} to {last}:" in builds
    [command] = re.findall(r"builds get (mysql@.+) --sha256 HEX --sha256 HEX", builds)
    assert {name.removeprefix("mysql@") for name in command.split()} <= set(archived)


def test_the_index_has_every_page_of_docs_and_links_lead_somewhere() -> None:
    linked = set(re.findall(r"\]\(([a-z-]+\.md)[^)]*\)", (DOCS / "README.md").read_text()))
    assert linked == {page.name for page in DOCS.glob("*.md")} - {"README.md"}
    pages = re.findall(r"\]\(((?:docs|examples)[^)#]*)", README)
    assert pages
    assert [page for page in pages if not (ROOT / page).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for link in re.findall(r"\]\((?!http)([^)\s]+)\)", page.read_text()):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_containerfile_copies_what_is_there_and_not_ignored() -> None:
    copied = [
        name
        for line in re.findall(r"^COPY (?!--)(.+)$", CONTAINERFILE, re.MULTILINE)
        for name in line.split()[:-1]
    ]
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert "pyproject.toml" in copied
    assert ignored == ["*", *(f"!{name}" for name in copied)]
    assert [name for name in copied if not (ROOT / name).exists()] == []
