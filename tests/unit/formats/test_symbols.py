from __future__ import annotations

import pytest

from slowdust.formats.call_graph import folded_name, has_name, object_name, plain_name


@pytest.mark.parametrize(
    ("name", "folded"),
    [
        ("palloc", "palloc"),
        ("walk.part.0", "walk"),
        ("walk.constprop.1.isra.0", "walk"),
        ("exec.lto_priv.12", "exec"),
        ("exec.llvm.1234567890", "exec"),
        ("fail.cold", "fail"),
        ("Item::val() [clone .part.3] [clone .isra.0]", "Item::val()"),
        ("malloc@@GLIBC_2.2.5", "malloc"),
        ("__memcpy_avx_unaligned_erms", "__memcpy_avx_unaligned_erms"),
        ("file.partial", "file.partial"),
    ],
)
def test_clones_are_folded(name: str, folded: str) -> None:
    assert folded_name(name) == folded


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("do_command(THD*)", "do_command"),
        ("THD::enter(Info const*, char const*) const", "THD::enter"),
        ("void lock<Mutex<Event<int> > >(Mutex<Event<int> >*)", "lock<Mutex<Event<int> > >"),
        ("run()::{lambda(int)#1}::operator()(int) const", "run()::{lambda(int)#1}::operator()"),
        ("(anonymous namespace)::walk(void (*)(int))", "(anonymous namespace)::walk"),
        ("Item::operator bool() const", "Item::operator bool"),
        ("JOIN::operator()", "JOIN::operator()"),
        ("ExecScan", "ExecScan"),
        ("odd)", "odd)"),
    ],
)
def test_parameters_and_return_types_are_skipped(name: str, plain: str) -> None:
    assert plain_name(name) == plain


def test_addresses_are_no_names() -> None:
    assert not has_name("0x00000000012ab340")
    assert not has_name("???")
    assert not has_name("[unknown]")
    assert has_name("0xdeadbeef_handler")


def test_objects_are_called_by_their_files() -> None:
    assert object_name("/usr/lib/x86_64-linux-gnu/libc.so.6") == "libc.so.6"
    assert object_name("???") == "???"
