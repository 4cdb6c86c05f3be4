"""Addresses of webhooks: plain http needs consent, and no message has an address."""

from __future__ import annotations

from pathlib import Path

import pytest

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
def test_what_nobody_else_can_read_needs_no_consent(tmp_path: Path, address: str) -> None:
    assert not with_webhook(tmp_path, address)
    with pytest.raises(UsageError, match=r"webhook_insecure: no webhook uses plain http"):
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
    ("address", "complaint"),
    [
        ("hooks.example/pencil", "this is not an address: it does not begin with a scheme"),
        ("ftp://ann:pencil@h", "does not begin with https:// or http://"),
        ("https://", "it has no host"),
        ("https:///pencil", "it has no host"),
        ("https://ann:pencil@:8080/", "it has no host"),
        ("https://h:pencil/", "write HOST or HOST:PORT after the user"),
        ("https://ann:pen/cil@h/", "it has an '@' after '/', '?' or '#': write %40"),
        ("https://ann:5433/pencil@h/", "it has an '@' after '/', '?' or '#': write %40"),
        ("https://ann:pencil@h/x@y", "it has an '@' after '/', '?' or '#': write %40"),
        ("https://ann%3Apencil@h/", "the user contains ':'"),
        ("https://ann:pencil%FF@h/", "the password is not UTF-8"),
        ("https://h/pen cil", "percent-encode blanks"),
        ("https://[pencil/", "write HOST or HOST:PORT after the user"),
        ("$PENCIL_URL", "the environment variable PENCIL_URL is not set"),
    ],
)
def test_wrong_addresses_are_not_told(tmp_path: Path, address: str, complaint: str) -> None:
    with pytest.raises(UsageError) as refused:
        with_webhook(tmp_path, address)
    assert complaint in str(refused.value)
    assert "pencil" not in str(refused.value)
    assert "cil" not in str(refused.value)


def test_other_kinds_of_values_are_not_told(tmp_path: Path) -> None:
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
