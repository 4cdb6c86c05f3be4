"""`slowdust doctor` on this machine, for two accounts: the tests' and one without rights."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
from pathlib import Path

import msgspec

from slowdust.accounts import server_account
from slowdust.experiment.doctor import examine
from slowdust.experiment.doctor.host import read_host
from slowdust.store.finding import Finding, Severity
from tests.integration.slowdust_command import COMMAND


def test_the_command_makes_no_directory(open_dir: Path) -> None:
    absent = open_dir / "mistyped"
    done = subprocess.run(
        [COMMAND, "doctor"],
        env={**os.environ, "SLOWDUST_DATA": str(absent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert str(absent) in done.stderr
    assert not absent.exists()


def test_the_command_examines_this_host(open_dir: Path) -> None:
    (open_dir / "data").mkdir(mode=0o755)
    done = subprocess.run(
        [COMMAND, "doctor", "--json"],
        env={**os.environ, "SLOWDUST_DATA": str(open_dir / "data")},
        cwd=open_dir,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr
    findings = msgspec.convert(json.loads(done.stdout)["findings"], list[Finding])
    problems = [finding for finding in findings if finding.severity is Severity.PROBLEM]
    assert done.returncode == (3 if problems else 0)
    check_findings(findings)


def test_an_account_without_rights_examines_it_as_well(open_dir: Path) -> None:
    data = open_dir / "data"
    data.mkdir()
    server_account().make_owner_of(data)
    # It may not be able to execute this Python, so it takes over a copy of this process.
    child = multiprocessing.get_context("fork").Process(target=examine_without_rights, args=(data,))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    check_findings(msgspec.json.decode((data / "findings").read_bytes(), type=list[Finding]))


def examine_without_rights(data: Path) -> None:
    account = server_account()
    if not account.is_self:
        os.setgroups([])
        os.setgid(account.gid)
        os.setuid(account.uid)
    os.chdir("/")
    (data / "findings").write_bytes(msgspec.json.encode(examine(read_host(data))))


def check_findings(findings: list[Finding]) -> None:
    by_check = {finding.check: finding for finding in findings}
    assert len(by_check) == len(findings)
    assert "fsync takes" in by_check["Speed of fsync"].state
    assert os.uname().release in by_check["Kernel"].state
