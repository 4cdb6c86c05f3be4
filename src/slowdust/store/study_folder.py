"""Folders of studies: a record of the question and the progress, and the experiments.

The experiments are in a results folder within it. `kind` names the study in messages: 'search'.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from slowdust.errors import UsageError
from slowdust.store.folder import Folder
from slowdust.store.storage import LOCK_FILE, Versioned, locked, read_versioned, write_versioned

_Record = TypeVar("_Record", bound=Versioned)


@dataclass(frozen=True)
class StudyFolder:
    """The folder of one study."""

    path: Path
    kind: str
    record_file: str
    """Name of the record within the folder."""

    @property
    def name(self) -> str:
        """The name that the user gave."""
        return self.path.name

    def has_begun(self) -> bool:
        """Return whether its record exists."""
        return (self.path / self.record_file).is_file()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder's lock, so that no other process resumes the study.

        Raises:
            UsageError: another process holds it.
        """
        folder = self.path
        made = [path for path in (folder.parent, folder) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        is_new = not (folder / LOCK_FILE).exists()
        with locked(folder, f"a {self.kind} named '{self.name}' is running"):
            try:
                yield
            finally:
                if is_new and not self.has_begun():  # it failed before the record was written
                    (folder / LOCK_FILE).unlink()
                    for path in reversed(made):
                        with suppress(OSError):
                            path.rmdir()

    def check_resumable(self) -> None:
        """Raise UsageError if there is nothing to resume."""
        if not self.has_begun():
            raise UsageError(
                f"nothing to resume: no {self.kind} '{self.name}' in {self.path.parent}"
            )

    def check_free(self) -> None:
        """Raise UsageError if the name is taken."""
        if self.has_begun():
            raise UsageError(
                f"a {self.kind} named '{self.name}' already exists: choose another --name, or add "
                "--resume"
            )
        if any(path.is_file() for path in self.path.glob("*.json")):
            what = "an experiment" if Folder(self.path).has_manifest() else "something else"
            raise UsageError(f"{what} named '{self.name}' already exists: choose another --name")

    def check_same(
        self, before: msgspec.Struct, now: msgspec.Struct, free: Collection[str] = ()
    ) -> None:
        """Raise UsageError, which names a difference, unless two questions are the same.

        `free` has the keys of the questions and of their `options` that may differ.
        """
        was, wanted = (_flat(each) for each in (before, now))
        keys = sorted({*was, *wanted} - {*free})
        differing = [key for key in keys if was.get(key) != wanted.get(key)]
        if differing:
            key = differing[0]
            raise UsageError(
                f"cannot resume '{self.name}': {key} was {was.get(key)} and is now "
                f"{wanted.get(key)}; give the same options"
            )

    def read(self, shape: type[_Record], newest_schema: int) -> _Record:
        """Return the record.

        Raises:
            UsageError: it does not exist, or a newer Slowdust wrote it.
            SlowdustError: it is damaged.
        """
        record = read_versioned(self.path / self.record_file, shape, newest_schema)
        if record is None:
            raise UsageError(f"no {self.kind} in {self.path}")
        return record

    def write(self, record: msgspec.Struct) -> None:
        """Replace the record."""
        write_versioned(self.path / self.record_file, record)


def _flat(question: msgspec.Struct) -> Mapping[str, Any]:
    """Return the keys of a question and of its options in one table."""
    keys: dict[str, Any] = msgspec.to_builtins(question)
    return {**keys.pop("options"), **keys}
