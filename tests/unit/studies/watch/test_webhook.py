"""Addresses of webhooks: plain http needs consent, and messages have no addresses."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.errors import UsageError
from tests.unit.studies.watch.synthetic_watch import RELEASES, a_watch


def with_webhook(folder: Path, address: str, more: str = "") -> bool:
    """Read a watch with this address; return whether others can read what is posted."""
    watch = a_watch(folder, RELEASES + f"webhook = '{address}'\n{more}")
    assert watch.table.webhook is not None
    return watch.table.webhook.is_readable_by_others


@pytest.mark.parametrize(
    "address",
    [
        "https://hooks.example/T0/pencil",
        "https://ann:pencil@hooks.example:8443/x",
        "HTTPS://hooks.example/@ann",
        "http://127.0.0.1:8080/pencil",
        "http://127.1.2.3/pencil",
        "http://[::1]/pencil",
        "http://ann:pencil@localhost/x",
    ],
)
def test_private_files_need_no_consent(tmp_path: Path, address: str) -> None:
    assert not with_webhook(tmp_path, address)
    with pytest.raises(UsageError, match="webhook_insecure: "):
        with_webhook(tmp_path, address, "webhook_insecure = true\n")


@pytest.mark.parametrize(
    "address",
    [
        "http://hooks.example/pencil",
        "http://ann:pencil@hooks.example/x",
        "http://127.0.0.1.example/pencil",
        "http://127.0.0.1@hooks.example/pencil",
        "http://localhost.example/pencil",
        "http://[2001:db8::1]/pencil",
        "http://10.0.0.1/pencil",
        "HTTP://10.0.0.1/pencil",
    ],
)
@pytest.mark.parametrize("is_in_a_variable", [False, True])
def test_plain_http_to_another_machine_needs_consent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, *, is_in_a_variable: bool
) -> None:
    monkeypatch.setenv("WATCH_URL", address)
    written = "$WATCH_URL" if is_in_a_variable else address
    with pytest.raises(UsageError, match=r"w\.toml:\d+: watch\.webhook: the address is") as refused:
        with_webhook(tmp_path, written)
    assert "webhook_insecure = true" in str(refused.value)
    assert "pencil" not in str(refused.value)
    assert with_webhook(tmp_path, written, "webhook_insecure = true\n")


@pytest.mark.parametrize(
    "address",
    [
        "hooks.example/pencil",
        "ftp://ann:pencil@h",
        "https://",
        "https:///pencil",
        "https://ann:pencil@:8080/",
        "https://h:pencil/",
        "https://ann:pen/cil@h/",
        "https://ann:5433/pencil@h/",
        "https://ann:pencil@h/x@y",
        "https://ann%3Apencil@h/",
        "https://ann:pencil%FF@h/",
        "https://h/pen cil",
        "https://[pencil/",
        "$PENCIL_URL",
    ],
)
def test_wrong_addresses_are_not_printed(
    tmp_path: Path, address: str, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(UsageError) as refused:
        with_webhook(tmp_path, address)
    assert str(refused.value) == snapshot
    assert "pencil" not in str(refused.value)
    assert "cil" not in str(refused.value)


def test_other_kinds_of_values_are_not_reported(tmp_path: Path) -> None:
    for value in ('["https://h/pencil"]', "17", '{ url = "pencil" }', "https://h/pencil"):
        with pytest.raises(UsageError, match=r"webhook: .*quotes") as refused:
            a_watch(tmp_path, RELEASES + f"webhook = {value}\n")
        assert "pencil" not in str(refused.value)


@pytest.mark.parametrize(
    ("repository", "hidden"),
    [
        ("https://ann:pencil@h/x.git", "https://***"),
        ("https://pencil@h/x.git", "https://***"),
        ("https://h/x.git?token=pencil", "https://h/x.git?***"),
        ("ssh://git:pencil@h/x.git", "ssh://git:***"),
        ("git:pencil@h:x.git", "ssh://git:***"),
    ],
)
def test_a_repository_has_no_password(tmp_path: Path, repository: str, hidden: str) -> None:
    subject = 'dbms = "postgres"\nref = "a"\nbase = "postgres@17.6"\n'
    with pytest.raises(UsageError, match=r"w\.toml:2: watch\.repo: ") as refused:
        a_watch(tmp_path, f'[watch]\nrepo = "{repository}"\n{subject}')
    assert f"'{hidden}'" in str(refused.value)
    assert "pencil" not in str(refused.value)
    for good in ("ssh://git@h/x.git", "git@h:x.git", "https://h/x.git", "file:///a@b/x"):
        a_watch(tmp_path, f'[watch]\nrepo = "{good}"\n{subject}')
