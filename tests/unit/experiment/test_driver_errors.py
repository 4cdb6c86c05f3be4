"""Errors of the driver have the name of a command, and not its content: it may have a password."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.dbms.access import Target
from slowdust.experiment.driver.process import Driver, DriverError
from slowdust.secret import Secret

TARGET = Target(
    dbms="postgres", host=None, socket="/s", port=1, user="u", password=Secret("pencil"),
    database="d",
)  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (
            '"event":"error","id":null,"kind":"usage","message":"no"',
            "does not understand 'sql': no",
        ),
        ('"event":"error","id":1,"kind":"usage","message":"no"', "the driver rejects 'sql': no"),
        ('"event":"closed","id":1,"session":"s"', "the driver answered 'closed' to 'sql'"),
        ('"event":"nothing"', "the driver wrote b'"),
    ],
)
def test_a_command_is_not_told(tmp_path: Path, answer: str, complaint: str) -> None:
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
    assert complaint in str(failed.value)
    assert "pencil" not in str(failed.value)
    assert "a row" not in str(failed.value)
    assert '"password":"pencil"' in (tmp_path / "read").read_text(), "the driver has to know it"
