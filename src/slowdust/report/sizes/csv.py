"""Sizes of builds as CSV, one row per build; build trees are not in it."""

from __future__ import annotations

import csv
import io

import msgspec

from slowdust.analysis.sizes import Growth, SizesReport
from slowdust.store.sizes import ServerSizes


def render(report: SizesReport) -> str:
    """Return the table; what is not known is an empty cell."""
    of_server, of_growth = ServerSizes.__struct_fields__, Growth.__struct_fields__
    header = [
        *("dbms", "version", "source"),
        *of_server,
        *("library_bytes", "plugins", "plugin_bytes"),
        *(f"growth_{name}" for name in of_growth),
    ]
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(header)
    for build in report.builds:
        sizes = build.sizes
        growth = {} if build.growth is None else msgspec.structs.asdict(build.growth)
        cells = [
            *(sizes.dbms, sizes.version, sizes.source),
            *(getattr(sizes.server, name) for name in of_server),
            *(sum(sizes.libraries.values()), sizes.plugins, sizes.plugin_bytes),
            *(growth.get(name) for name in of_growth),
        ]
        writer.writerow(["" if cell is None else cell for cell in cells])
    return output.getvalue()
