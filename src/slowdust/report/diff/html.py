"""The difference of two experiments as a page, the one beside the other."""

from __future__ import annotations

from slowdust.analysis.diff.model import Diff, TestDifference
from slowdust.analysis.diff.words import label_of
from slowdust.report.html.environment import environment, shipped
from slowdust.wording import GROUP_TITLES


def render(diff: Diff) -> str:
    """Return the whole page."""
    groups: dict[str, list[TestDifference]] = {}
    for test in diff.tests:
        groups.setdefault(GROUP_TITLES.get(test.group, test.group), []).append(test)
    template = environment().get_template("diff.html")
    return template.render(
        diff=diff,
        groups=groups,
        sides=[(diff.before, "Before"), (diff.after, "After")],
        label_of=lambda test: label_of(diff, test),
        style=shipped("page.css", "site.css"),
        with_work=any(test.work for test in diff.tests),
        script="",
    )
