"""Errors of the driver name a command without its content, which may have a password."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.dbms.access import Target
from slowdust.experiment.driver.process import Driver, DriverError
from slowdust.secret import Secret

TARGET = Target(
    dbms="postgres", host=None, socket="/s", port=1, user="u", password=Secret("pencil"),
    database="d",
)  # fmt: skip


@pytest.mark.parametrize(
    "answer",
    [
        '"event":"error","id":null,"kind":"usage","message":"no"',
        '"event":"error","id":1,"kind":"usage","message":"no"',
        '"event":"closed","id":1,"session":"s"',
        '"event":"nothing"',
    ],
)
def test_errors_do_not_repeat_the_command(
    tmp_path: Path, answer: str, snapshot: SnapshotAssertion
) -> None:
    program = tmp_path / "driver"
    program.write_text(
        f"#!/bin/sh\nread -r command\necho '{{{answer}}}'\necho \"$command\" > read\n"
    )
    program.chmod(0o755)
    with (
        pytest.MonkeyPatch.context() as here,
        pytest.raises(DriverError) as failed,
    ):
        here.chdir(tmp_path)
        with Driver(program) as driver:
            driver.sql(TARGET, ["SELECT 'a row'"])
    assert str(failed.value) == snapshot
    assert "pencil" not in str(failed.value)
    assert "a row" not in str(failed.value)
    assert '"password":"pencil"' in (tmp_path / "read").read_text(), "the driver has to know it"
