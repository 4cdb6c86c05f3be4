"""URLs in which a password hides: they are refused, and no message has it."""

from __future__ import annotations

import pytest

from slowdust.addresses import hide_argument_secrets, shown, without_secrets
from slowdust.dbms.server_url import parse_url
from slowdust.errors import UsageError


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("postgres://ann:sec/ret@h", "'postgres://***': a password in a URL"),
        ("postgres://ann:5433/secret@h", "'postgres://***': a password in a URL"),
        ("postgres://ann:sec?ret@h/x", "in the user or password as %2F, %3F or %23"),
        ("postgres://ann:sec#ret@h/x", "a password in a URL"),
        ("postgres://ann:se@cret@h/x", "'postgres://ann:***': a password in a URL"),
        ("postgres://ann:secret@h/x@y", "a password in a URL"),
        ("postgres://ann:secret@h/x", "'postgres://ann:***': a password in a URL"),
        ("postgres://:secret@h/x", "'postgres://:***': a password in a URL"),
        ("postgres://ann%3Asecret@h/x", "'postgres://ann:***': a password in a URL"),
        ("postgres://ann@h/x?password=secret", "'postgres://ann@h/x?***': a password in a URL"),
        ("postgres://ann@h/x?PASSWORD=secret", "a password in a URL"),
        ("postgres://ann@h/x?p%61ssword=secret", "a password in a URL"),
        ("postgres://ann@h/x?password=a&b=secret", "'postgres://ann@h/x?***': a password"),
        ("postgres://ann@h/x?sslmode=require&sslpassword=secret", "a password in a URL"),
        ("mysql://ann@h/x?ssl-mode=REQUIRED#password=secret", "a password in a URL"),
        ("mongodb://ann@h/x?tlsCertificateKeyFilePassword=secret", "a password in a URL"),
        ("mongodb://ann@h/x?authMechanismProperties=AWS_SESSION_TOKEN:secret", "unknown option"),
        ("postgres://ann@h/x?pasword=secret", "'postgres://ann@h/x' has the unknown option"),
        ("postgres://ann@h/x?secret", "'postgres://ann@h/x' has an option without a value"),
        ("postgres://ann:secret", "'postgres://***' is not a URL: write HOST"),
        ("postgres://ann@h:secret", "is not a URL: write HOST or HOST:PORT"),
        ("postgres://ann:sec ret@h", "is not a URL: percent-encode"),
        ("postgres://ann:sec\nret@h", "is not a URL: percent-encode"),
        ("postgres://ann:sec\tret@h", "is not a URL: percent-encode"),
        ("postgres://ann:secret\udcff@h", "is not a URL: percent-encode"),
        ("postgres://ann:secret@h\u2100", "is not a URL: write HOST"),
        ("postgres://ann:secret%FF@h", "is not a URL: the password is not UTF-8"),
        ("postgres://ann%00@h", "is not a URL: the user has a control character"),
        ("postgres://ann@h/x%00", "is not a URL: the database has a control character"),
        ("ann:secret@h://x", "reaches no server by a URL"),
    ],
)
def test_a_password_is_refused_and_not_printed(written: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_url(written)
    text = str(refused.value)
    assert message in text
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
