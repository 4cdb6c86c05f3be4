"""Builds of FerretDB, with a fake `go`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from slowdust.builds import resolve
from slowdust.errors import SlowdustError

if TYPE_CHECKING:
    Registry = Any  # of conftest.py, which cannot be imported

GO = """#!/bin/sh
echo "go $*" >> {home}/calls
case "$1$2$3" in
  moddownload-json)
    [ ! -e {home}/module-fails ] || {{ /bin/cat {home}/module-fails; exit 1; }}
    echo '{{"Path": "github.com/FerretDB/FerretDB", "Dir": "{home}/module"}}' ;;
  moddownload)
    [ ! -e {home}/others-fail ] || {{ /bin/cat {home}/others-fail >&2; exit 1; }} ;;
  envGOVERSION) echo go1.26.8 ;;
  build-trimpath-o)
    [ ! -e {home}/build-fails ] || {{ /bin/cat {home}/build-fails >&2; exit 1; }}
    [ "$CGO_ENABLED" = 0 ] || exit 9
    {{ echo '#!/bin/sh'; echo "echo version: $(/bin/cat build/version/version.txt)"; }} > "$4" ;;
esac
"""
MODULE = "github.com/FerretDB/FerretDB@v1.24.2"


@pytest.fixture
def go(registry: Registry) -> Registry:
    """A `go` whose module has its version's file empty, and can only be read."""
    program = registry.bin / "go"
    program.write_text(GO.format(home=registry.home))
    program.chmod(0o755)
    folder = registry.home / "module/build/version"
    folder.mkdir(parents=True)
    file = folder / "version.txt"
    file.touch()
    for path in (file, folder, folder.parent, folder.parent.parent):
        path.chmod(0o444 if path == file else 0o555)
    return registry


def refusal(go: Registry, file: str, text: str) -> str:
    """The error if `go` fails like this."""
    (go.home / file).write_text(text)
    with pytest.raises(SlowdustError) as error:
        resolve("ferretdb", "1.24.2", print)
    return str(error.value)


def test_a_module_is_fetched_and_compiled_once(go: Registry) -> None:
    shown: list[str] = []
    build = resolve("ferretdb", "1.24.2", shown.append)
    assert (build.version, build.facts.version) == ("1.24.2", "1.24.2")
    assert build.source == f"Go module {MODULE}, go1.26.8"
    assert build.server.relative_to(build.root) == Path("bin/ferretdb")
    assert build.command(build.server) == [str(build.server)]
    assert shown == [
        f"fetching Go module {MODULE}",
        f"compiling Go module {MODULE} with go1.26.8",
    ]
    calls = go.calls()
    assert f"go mod download -json {MODULE}" in calls
    assert calls[-1].endswith("/binaries/bin/ferretdb ./cmd/ferretdb")
    assert not list((go.home.parent / "cache").rglob("version.txt")), "sources are not kept"

    assert resolve("ferretdb", "1.24", print) == build
    assert go.calls() == calls, "it is in the cache"


def test_a_module_that_cannot_be_had_is_reported_in_one_line(go: Registry) -> None:
    answer = '{\n\t"Error": "reading https://proxy/x.info: 403\\n\\tserver: \\"not here\\""\n}\n'
    assert refusal(go, "module-fails", answer) == (
        f"cannot get ferretdb@1.24.2: tried Go module {MODULE} "
        '(go: reading https://proxy/x.info: 403 server: "not here")'
    )


def test_a_module_that_it_needs_and_that_cannot_be_had_is_reported(go: Registry) -> None:
    messages = "go: downloading go.uber.org/zap v1.27.0\ngo: go.uber.org/zap: checksum mismatch\n"
    assert refusal(go, "others-fail", messages).endswith("(go: go.uber.org/zap: checksum mismatch)")


def test_a_failing_compiler_is_reported(go: Registry) -> None:
    messages = "# github.com/FerretDB/FerretDB/cmd\n./main.go:2:15: undefined: y\n"
    assert refusal(go, "build-fails", messages).endswith("(go: ./main.go:2:15: undefined: y)")


def test_a_missing_go_is_reported(go: Registry) -> None:
    go.remove_client("go")
    with pytest.raises(SlowdustError, match=r"\bgo\b.* installed"):
        resolve("ferretdb", "1.24.2", print)
