"""Any content of a bundle: one line or an experiment, no traceback, no hang.

Each example is a real bundle with replaced members, headers, bytes or records. More examples:
`SLOWDUST_EXAMPLES=2000 pytest tests/unit/cli/test_any_bundle.py`.
"""

from __future__ import annotations

import gzip
import json
import shutil
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowdust.store.bundle import pack
from slowdust.store.folder import Folder
from tests.unit.cli.any_input import BYTES, FEW, READ, TEXTS, change, check
from tests.unit.cli.command import Slowdust

pytestmark = pytest.mark.usefixtures("no_hang")

Member = tuple[tarfile.TarInfo, bytes]
_TYPES = [
    *(tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.DIRTYPE),
    *(tarfile.FIFOTYPE, tarfile.CONTTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
    *(tarfile.GNUTYPE_SPARSE, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, b"?"),
]
_NAMES = [
    *("e/manifest.json", "e/slices.ndjson", "e/annotation.json", "e/workload.toml", "e/perf"),
    *("../../esc", "/e/manifest.json", "e", "", "e/perf/x.json.gz", "e/perf/\x1b[31m.json.gz"),
    *("x" * 300, "e/perf/" + "é" * 60 + ".json.gz", ".lock/manifest.json", "e/manifest.json/x"),
]
_KEYWORDS = {
    "size": ["0", "-1", "x", "1" * 30, "1e9"],
    "path": _NAMES,
    "GNU.sparse.major": ["1", "0"],
    "GNU.sparse.minor": ["0"],
    "GNU.sparse.realsize": ["x", "-1", "1" * 30],
    "GNU.sparse.map": ["0,1", "x", ",", "1" * 5000],
    "GNU.sparse.size": ["1", "x"],
    "GNU.sparse.name": _NAMES,
    "mtime": ["x", "1e999", "nan"],
    "hdrcharset": ["BINARY"],
    "uid": ["9" * 5000],
}
_SIZES = [0, 1, 511, 512, 65_536, 65_537, 8 << 30]


def _members(folder: Folder) -> list[Member]:
    pack(folder, folder.path.parent / "whole")
    with tarfile.open(folder.path.parent / "whole") as archive:
        contents = ((member, archive.extractfile(member)) for member in archive)
        return [(member, content.read()) for member, content in contents if content]


def _damaged_member(data: st.DataObject, member: tarfile.TarInfo) -> bytes:
    """Return a header that was changed, with one of attributes before it where these are."""
    for part in data.draw(st.lists(st.sampled_from(["name", "type", "size", "pax"]), max_size=3)):
        if part == "name":
            member.name = data.draw(st.sampled_from(_NAMES))
        elif part == "type":
            member.type = data.draw(st.sampled_from(_TYPES))
        elif part == "size":
            member.size = data.draw(st.sampled_from(_SIZES))
        else:
            word = data.draw(st.sampled_from(sorted(_KEYWORDS)))
            member.pax_headers = {word: data.draw(st.sampled_from(_KEYWORDS[word]))}
    if data.draw(st.booleans()):
        return member.tobuf(tarfile.GNU_FORMAT, errors="surrogateescape")
    return member.tobuf(tarfile.PAX_FORMAT)


def _damaged_records(data: st.DataObject, name: str, content: bytes) -> bytes:
    """Change a part of JSON, or put one in that is deep, unknown or no text."""
    action = data.draw(st.sampled_from(["value", "deep", "unknown", "bytes", "line"]))
    lines = content.splitlines() if name.endswith(".ndjson") else [content]
    place = data.draw(st.integers(0, len(lines) - 1))
    if action == "value":
        value = json.loads(lines[place])
        change(data, value)
        lines[place] = json.dumps(value).encode()
    elif action == "line":
        lines.insert(place, data.draw(st.one_of(BYTES, st.sampled_from(TEXTS))))
    else:
        key, added = {
            "deep": (b"zzz", b"[" * 3000 + b"]" * 3000),
            "unknown": (b"zz\\nz", b"1"),
            "bytes": (b"zzz", b'"\xb8"'),
        }[action]
        lines[place] = lines[place].replace(b"{", b'{"%b": %b, ' % (key, added), 1)
    return b"".join(line + b"\n" for line in lines)


def _written(data: st.DataObject, members: Sequence[Member]) -> bytes:
    """Write the members as a bundle, some of them damaged, and the bytes of it, too."""
    parts = []
    damages: dict[str, Callable[[Member], bytes]] = {
        "none": lambda pair: pair[0].tobuf() + _padded(pair[1]),
        "header": lambda pair: _damaged_member(data, pair[0]) + _padded(pair[1]),
        "records": lambda pair: _with_content(
            pair[0], _damaged_records(data, pair[0].name, pair[1])
        ),
        "any": lambda pair: _with_content(pair[0], data.draw(st.sampled_from(TEXTS))),
        "missing": lambda _: b"",
        "twice": lambda pair: 2 * (pair[0].tobuf() + _padded(pair[1])),
    }
    damaged = data.draw(st.integers(0, len(members) - 1))
    for number, (member, content) in enumerate(members):
        actions = [*damages, "header", "records"]
        if not content.startswith(b"{"):
            actions = [action for action in actions if action != "records"]
        action = data.draw(st.sampled_from(actions)) if number == damaged else "none"
        copied = tarfile.TarInfo(member.name)
        copied.size = member.size
        parts.append(damages[action]((copied, content)))
    whole = b"".join(parts) + bytes(1024)
    if data.draw(st.integers(0, 5)) == 0:
        start = data.draw(st.integers(0, len(whole)))
        whole = whole[:start] + data.draw(BYTES) + whole[start + data.draw(st.integers(0, 600)) :]
    packed = gzip.compress(whole, 1)
    cut = data.draw(st.one_of(st.just(len(packed)), st.integers(0, len(packed))))
    return packed[:cut] if data.draw(st.integers(0, 5)) == 0 else packed


def _with_content(member: tarfile.TarInfo, content: bytes) -> bytes:
    member.size = len(content)
    return member.tobuf() + _padded(content)


def _padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % tarfile.BLOCKSIZE)


@pytest.mark.parametrize("experiment", ["micro", "insert"])
def test_damaged_bundles(slowdust: Slowdust, results: Path, experiment: str) -> None:
    slowdust("rename", experiment, "e")
    slowdust("note", "e", "full moon", "--tag", "nightly")
    members = _members(Folder(results / "e"))
    shutil.rmtree(results / "e")

    @FEW
    @given(st.data())
    def damaged(data: st.DataObject) -> None:
        shutil.rmtree(results / "e", ignore_errors=True)
        for name in ("page.html", "units.xml", "classic", "pages", "again.slowdust"):
            shutil.rmtree(name, ignore_errors=True)
            Path(name).unlink(missing_ok=True)
        Path("e.slowdust").write_bytes(_written(data, members))
        outcome = slowdust("import", "bundle", "e.slowdust")
        assert outcome.code in range(3), outcome
        assert "Traceback" not in outcome.err
        if outcome.code:
            assert outcome.err == f"{outcome.complaint}\n", outcome
            assert not [*results.glob(".slowdust-tmp-*")]
            return
        Path("e.slowdust").unlink()
        for command in data.draw(st.lists(st.sampled_from(READ), min_size=2, max_size=2)):
            check(slowdust, *command)

    damaged()
