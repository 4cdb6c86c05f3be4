"""URLs with a hidden password: they are refused, and no message has it."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.addresses import hide_argument_secrets, shown, without_secrets
from slowdust.dbms.server_url import parse_url
from slowdust.errors import UsageError


@pytest.mark.parametrize(
    "written",
    [
        "postgres://ann:sec/ret@h",
        "postgres://ann:5433/secret@h",
        "postgres://ann:sec?ret@h/x",
        "postgres://ann:sec#ret@h/x",
        "postgres://ann:se@cret@h/x",
        "postgres://ann:secret@h/x@y",
        "postgres://ann:secret@h/x",
        "postgres://:secret@h/x",
        "postgres://ann%3Asecret@h/x",
        "postgres://ann@h/x?password=secret",
        "postgres://ann@h/x?PASSWORD=secret",
        "postgres://ann@h/x?p%61ssword=secret",
        "postgres://ann@h/x?password=a&b=secret",
        "postgres://ann@h/x?sslmode=require&sslpassword=secret",
        "mysql://ann@h/x?ssl-mode=REQUIRED#password=secret",
        "mongodb://ann@h/x?tlsCertificateKeyFilePassword=secret",
        "mongodb://ann@h/x?authMechanismProperties=AWS_SESSION_TOKEN:secret",
        "postgres://ann@h/x?pasword=secret",
        "postgres://ann@h/x?secret",
        "postgres://ann:secret",
        "postgres://ann@h:secret",
        "postgres://ann:sec ret@h",
        "postgres://ann:sec\nret@h",
        "postgres://ann:sec\tret@h",
        "postgres://ann:secret\udcff@h",
        "postgres://ann:secret@h\u2100",
        "postgres://ann:secret%FF@h",
        "postgres://ann%00@h",
        "postgres://ann@h/x%00",
        "ann:secret@h://x",
    ],
)
def test_a_password_is_refused_and_not_printed(written: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(UsageError) as refused:
        parse_url(written)
    text = str(refused.value)
    assert text == snapshot
    assert "\n" not in text
    for part in ("secret", "sec/", "ret@", "sec ", "cret"):
        assert part not in text, "it has a part of the password"


@pytest.mark.parametrize(
    "written", ["postgres://ann/x@h", "postgres://ann@h/x@y", "postgres://h/x?sslrootcert=/a@b"]
)
def test_the_host_is_what_follows_the_only_at(written: str) -> None:
    with pytest.raises(UsageError, match="%40"):
        parse_url(written)


@pytest.mark.parametrize("user", ["ann", "a%40b", "a%2Fb", "%C3%A9", "a%20b", "a%3Fb"])
def test_the_text_of_a_url_is_a_url_of_the_same_server(user: str) -> None:
    url = parse_url(f"postgres://{user}@db:5433/sh%2Fop%20%3F?sslmode=require")
    assert parse_url(url.text) == url


def test_sentences_around_addresses_are_not_changed() -> None:
    for text in (
        "postgres://ann@db:5433: connection refused",
        "'postgres://ann@db:5433/x', 'mysql://bob@[::1]:3306/y' and postgres@17.6",
        "(https://example.org:8443/a/@b).",
        "write postgres://, mysql:// or mongodb://, or https://...",
        "mongodb://ann@a:1,b:2/x names several hosts",
    ):
        if "@b)" not in text:
            assert without_secrets(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fatal: 'https://token@host/x': 403", "fatal: 'https://***': 403"),
        ("at ssh://git:pencil@host/x, and", "at ssh://git:***, and"),
        ("at https://h/x.tar?X-Amz-Signature=pencil.", "at https://h/x.tar?***."),
        ("proxy http://ann:pen/cil@host:3128/", "proxy http://***"),
        ("no file postgres:/ann:pencil@h/x", "no file postgres://ann:***"),
    ],
)
def test_secrets_of_addresses_are_hidden_in_texts(text: str, expected: str) -> None:
    assert without_secrets(text) == expected
    assert without_secrets(expected) == expected


def test_an_argument_is_known_as_a_whole() -> None:
    url = "postgres://ann:two words'\n@db/x"
    for text in (f"no file {url}", f"no test {url!r}", f"no file {url.replace('//', '/')}"):
        assert "words" not in hide_argument_secrets(text, [f"--on={url}"])
    assert shown(url) == "postgres://ann:***"
