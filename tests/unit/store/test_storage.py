"""Records survive kills, files have a version, and one process holds a folder."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from slowdust.errors import SlowdustError, UsageError
from slowdust.store.storage import (
    append_records,
    locked,
    read_records,
    read_versioned,
    write_versioned,
)


class Record(msgspec.Struct, omit_defaults=True):
    schema: int = 1
    text: str = ""


@pytest.mark.parametrize("torn", ["", "x", "x" * 200_000])
def test_a_torn_last_line_is_ignored_and_cut_off(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "records"
    append_records(path, [Record(text="1")])
    with path.open("a") as file:
        file.write(torn)
    assert read_records(path, Record) == [Record(text="1")]
    append_records(path, [Record(text="2"), Record(text="3")])
    assert [each.text for each in read_records(path, Record)] == ["1", "2", "3"]
    path.write_text(torn)
    append_records(path, [Record(text="4")])
    assert [each.text for each in read_records(path, Record)] == ["4"]


def test_a_damaged_line_is_an_error_and_no_file_has_no_records(tmp_path: Path) -> None:
    path = tmp_path / "records"
    assert read_records(path, Record) == []
    path.write_text("{}\n[]\n{}\n")
    with pytest.raises(SlowdustError, match="records is damaged"):
        read_records(path, Record)


def test_any_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    assert read_versioned(path, Record, 1) is None
    write_versioned(path, Record(text="x"))
    assert read_versioned(path, Record, 1) == Record(text="x")
    path.write_text('{"schema": 2, "text": 7}')
    with pytest.raises(UsageError, match="newer Slowdust"):
        read_versioned(path, Record, 1)


def test_a_folder_is_locked_once(tmp_path: Path) -> None:
    with (
        locked(tmp_path, "it runs"),
        pytest.raises(UsageError, match="it runs"),
        locked(tmp_path, "it runs"),
    ):
        pass
    with locked(tmp_path, "it runs"):
        pass
