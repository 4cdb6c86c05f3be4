"""Messages of the audit of dependencies: it says so if no service answered."""

from __future__ import annotations

import json

import pytest

from tests.lint.audit import npm_audit, python_audit, rust_audit

SAFE = {"name": "safe", "version": "1.0", "vulns": []}
BAD = {"name": "bad", "version": "0.9", "vulns": [{"id": "PYSEC-2026-1"}]}
UNKNOWN = {"name": "unknown", "skip_reason": "not found"}


def test_python() -> None:
    audit = python_audit(json.dumps({"dependencies": [SAFE, BAD, UNKNOWN]}))
    assert str(audit) == (
        "Python: 2 packages audited, vulnerable: bad 0.9 (PYSEC-2026-1); 1 could not be audited"
    )


def test_javascript_and_rust() -> None:
    told = {"metadata": {"dependencies": {"total": 1}}, "vulnerabilities": {}}
    assert str(npm_audit(json.dumps(told))) == "JavaScript: 1 packages audited, vulnerable: none"
    one = {"package": {"name": "bad"}, "advisory": {"id": "RUSTSEC-2026-0001"}}
    rust = {"lockfile": {"dependency-count": 90}, "vulnerabilities": {"list": [one]}}
    assert rust_audit(json.dumps(rust)).vulnerable == ("bad (RUSTSEC-2026-0001)",)


@pytest.mark.parametrize("answer", ["", "{}", "[]", "not JSON", '{"message": "no"}'])
def test_without_an_answer_it_says_so(answer: str) -> None:
    for audit in (python_audit(answer), npm_audit(answer), rust_audit(answer)):
        assert "NOT AUDITED: " in str(audit)
        assert audit.vulnerable == ()


def test_unknown_packages_are_not_audited() -> None:
    audit = python_audit(json.dumps({"dependencies": [UNKNOWN, UNKNOWN]}))
    assert str(audit) == "Python: NOT AUDITED: the service knows none of 2 packages"
