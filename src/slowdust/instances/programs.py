"""Programs of a build, run by an instance's account in its data directory."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowdust.accounts import BASE_ENVIRONMENT
from slowdust.dbms.site import Site
from slowdust.errors import SlowdustError
from slowdust.instances.rundir import RunDirectory

LOG_TAIL_LINES = 10
"""Lines of a log that an error shows."""
_LIMIT_S = 300.0


class InstanceError(SlowdustError):
    """A server that could not be created, started, kept alive or stopped."""


@dataclass(frozen=True)
class Programs:
    """Runs the programs of one instance."""

    name: str
    """The contender's name, for errors."""
    run: RunDirectory
    site: Site
    creation_log: Path

    def run_to_end(self, command: Sequence[str | Path], stdin: Path | None = None) -> str:
        """Run a program that makes the data directory; return what it printed.

        Raises InstanceError, with the end of its output, when it fails.
        """
        self.run.record_program(Path(command[0]))
        with self.creation_log.open("a+b") as log, Path(stdin or os.devnull).open("rb") as source:
            process = self.spawn(command, log.fileno(), {}, source.fileno())
            try:
                code = process.wait(_LIMIT_S)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)  # its own group, see spawn
                process.wait()
                raise
            log.seek(0)
            output = log.read().decode(errors="replace")
        if code != 0:
            raise self._creation_error(code, output)
        return output

    def spawn(
        self,
        command: Sequence[str | Path],
        output: int,
        variables: Mapping[str, str],
        source: int = subprocess.DEVNULL,
    ) -> subprocess.Popen[bytes]:
        """Start a program with these descriptors and more variables.

        Raises InstanceError when it cannot be run.
        """
        try:
            process = subprocess.Popen(
                [str(part) for part in command],
                stdin=source,
                stdout=output,
                stderr=output,
                cwd=self.site.data_dir,
                env={**BASE_ENVIRONMENT, **variables},
                # Ctrl-C in the terminal is meant for Slowdust, which then stops its servers.
                start_new_session=True,
                **self.site.account.identity(),
            )
        except OSError as error:
            raise InstanceError(f"{self.name}: cannot run {command[0]}: {error}") from error
        self.run.record_session(process.pid)
        return process

    def _creation_error(self, code: int, output: str) -> InstanceError:
        lines = [line for line in output.splitlines() if line.strip()][-LOG_TAIL_LINES:]
        tail = "".join(f"\n  | {line}" for line in lines)
        return InstanceError(
            f"{self.name}: its data directory cannot be created (exit code {code}){tail}"
        )
