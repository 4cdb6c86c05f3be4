"""The parts of a large page that are drawn when they are unfolded, compressed in the page."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence

from slowdust.report.html.environment import environment
from slowdust.report.html.page import Page
from slowdust.report.html.sections import Section

_RAW_DEFLATE = -15
"""The window of zlib without a head, which browsers call `deflate-raw`."""


def later_parts(page: Page, sections: Sequence[Section]) -> str:
    """Return the parts that `data-later` names, as JSON, compressed, in base64.

    Empty for a page that has few results.
    """
    if not page.has_many_cells:
        return ""
    views = {section.name: section.view for section in sections}
    forest, body = (environment().get_template(f"{name}.html") for name in ("forest", "test_body"))
    plots, tests = views.get("intervals"), views["tests"]
    parts: dict[str, str] = {}
    if isinstance(plots, list):
        for place, plot in enumerate(plots):
            parts[f"forest-{place}"] = forest.render(page=page, report=page.report, forest=plot)
    if isinstance(tests, list):
        for test in tests:
            parts[test.row.anchor] = body.render(page=page, report=page.report, test=test)
    return _packed(parts)


def _packed(parts: Mapping[str, str]) -> str:
    packer = zlib.compressobj(9, zlib.DEFLATED, _RAW_DEFLATE)
    data = packer.compress(json.dumps(parts).encode()) + packer.flush()
    return base64.b64encode(data).decode("ascii")
