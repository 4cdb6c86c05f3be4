"""The chart library in the package: the pinned one, with its license."""

from __future__ import annotations

import hashlib
import json
import re
from importlib import resources

from slowdust.report.html.environment import chart_library

FOLDER = resources.files("slowdust.report.html") / "uplot"


def test_its_files_match_the_pinned_version() -> None:
    lines = (FOLDER / "SHA256SUMS").read_text().splitlines()
    sums = {name: digest for digest, name in (line.split("  ") for line in lines)}

    assert set(sums) == {"LICENSE", "uPlot.iife.min.js", "uPlot.min.css"}
    for name, digest in sums.items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name


def test_package_lock_and_script_name_one_version() -> None:
    wanted = json.loads((FOLDER / "package.json").read_text())["dependencies"]["uplot"]
    locked = json.loads((FOLDER / "package-lock.json").read_text())["packages"][
        "node_modules/uplot"
    ]
    script = (FOLDER / "uPlot.iife.min.js").read_text()

    assert re.search(r"\(v([\d.]+)\)", script.splitlines()[0])[1] == wanted == locked["version"]  # type: ignore[index]
    assert locked["integrity"].startswith("sha512-")


def test_a_page_has_its_license_before_its_script() -> None:
    library = str(chart_library())

    assert library.index("Copyright (c) 2022 Leon Sorokin") < library.index("var uPlot=")
    assert "</script" not in library
