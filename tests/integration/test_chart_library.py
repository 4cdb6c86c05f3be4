"""The chart library in the package is the one that npm publishes."""

from __future__ import annotations

import subprocess
from importlib import resources
from pathlib import Path

from tests.tiers.selection import needs


@needs("npm")
def test_its_files_match_the_package(tmp_path: Path) -> None:
    folder = resources.files("slowdust.report.html") / "uplot"
    for name in ("package.json", "package-lock.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())

    subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit"], cwd=tmp_path, check=True)

    package = tmp_path / "node_modules" / "uplot"
    for name in ("LICENSE", "dist/uPlot.iife.min.js", "dist/uPlot.min.css"):
        shipped = folder / Path(name).name
        assert (package / name).read_bytes() == shipped.read_bytes(), name
