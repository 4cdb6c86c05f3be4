"""Running servers that Slowdust did not start, and certificates for them."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from slowdust.dbms.access import Target
from slowdust.experiment.driver.process import Driver
from slowdust.instances.instance import Instance
from tests.tiers.selection import require


@dataclass(frozen=True)
class Running:
    """A server that others started, as seen from outside."""

    target: Target

    @property
    def password(self) -> str:
        assert self.target.password is not None
        return self.target.password.reveal()

    def url(self, options: str = "", host: str = "127.0.0.1") -> str:
        at = f"{self.target.user}@{host}:{self.target.port}"
        return f"{self.target.dbms}://{at}/{self.target.database}{options}"

    def ask(self, statement: str) -> list[str]:
        """Return the first column of a statement's rows."""
        with Driver() as driver:
            (answer,) = driver.sql(self.target, [statement])
        return [str(row[0]) for row in answer.rows]

    def schemas(self) -> list[str]:
        return self.ask(
            "SELECT schema_name FROM information_schema.schemata "
            "WHERE schema_name LIKE 'slowdust\\_%'"
        )

    def drop(self, schema: str) -> None:
        """Remove a schema that a test has left on purpose."""
        cascade = " CASCADE" if self.target.dbms == "postgres" else ""
        self.ask(f"DROP SCHEMA {schema}{cascade}")


@dataclass(frozen=True)
class Certificates:
    """An authority, another one, and a server's certificate for 127.0.0.1 alone."""

    folder: Path

    @classmethod
    @contextmanager
    def made(cls) -> Iterator[Certificates]:
        """Make them in a folder that every user can enter."""
        require("openssl")
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            folder.chmod(0o755)
            made = cls(folder)
            made._make_all()
            yield made

    def _make_all(self) -> None:
        new = ["-newkey", "rsa:2048", "-nodes"]
        for name in ("ca", "other"):
            keys = ["-keyout", f"{name}.key", "-out", f"{name}.pem"]
            self.openssl("req", "-x509", *new, "-days", "2", "-subj", f"/CN={name}", *keys)
        keys = ["-keyout", "server.key", "-out", "server.csr"]
        self.openssl("req", *new, "-subj", "/CN=s", *keys)
        names = "subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n"
        (self.folder / "names").write_text(names)
        signer = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2"]
        request = ["-req", "-in", "server.csr", "-extfile", "names", "-out", "server.pem"]
        self.openssl("x509", *request, *signer)

    def openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def give_key_to(self, instance: Instance) -> None:
        files = instance.site.files
        assert files is not None
        owner = files.stat()
        key = self.folder / "server.key"
        key.chmod(0o600)
        shutil.chown(key, owner.st_uid, owner.st_gid)
