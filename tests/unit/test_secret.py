"""A secret shows its text only on request."""

from __future__ import annotations

import copy
import json
import pickle

import msgspec
import pytest

from slowdust.dbms.access import Access, Auth, Target
from slowdust.secret import Secret, revealed

SECRET = Secret("pencil")


def test_a_secret_is_not_printed() -> None:
    assert (str(SECRET), repr(SECRET), f"{SECRET:>5}") == ("***", "***", "  ***")
    access = Access.make(auth=Auth.SCRAM)
    assert access.password is not None
    assert access.password.reveal() not in repr(access)


def test_a_secret_is_not_stored() -> None:
    target = Target(
        dbms="x", host=None, socket="/s", port=1, user="u", password=SECRET, database="d"
    )
    assert "pencil" not in repr(target)
    for store in (
        pickle.dumps,
        copy.deepcopy,
        json.dumps,
        msgspec.json.encode,
        msgspec.to_builtins,
    ):
        with pytest.raises(TypeError):
            store(SECRET)
    with pytest.raises(TypeError):
        msgspec.json.encode(target)
    assert msgspec.to_builtins(target, enc_hook=revealed)["password"] == "pencil"


def test_secrets_are_equal_by_their_text() -> None:
    assert Secret("pencil") == SECRET
    assert len({Secret("pencil"), SECRET, Secret("other")}) == 2
