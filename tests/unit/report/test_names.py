"""Names of contenders given as directories."""

from __future__ import annotations

from slowdust.analysis.stored import analyse
from slowdust.report import csv, html, json
from slowdust.report.markdown import report as markdown
from tests.unit.report.media import printed
from tests.unit.synthetic import QUIET, synthetic_experiment

BASE, DIRECTORY, SHOWN = "mysql@8.0.15", "./x5:small", "mysql 5.7.22 (./x5:small)"


def test_reports_have_dbms_and_version_and_files_have_the_name_as_given() -> None:
    manifest, slices = synthetic_experiment(
        [BASE, DIRECTORY], ["scan", "insert"], shifts={DIRECTORY: {"scan": 0.5}}, noise=QUIET
    )
    facts = manifest.contenders[1]
    facts.dbms, facts.build.version = "mysql", "mysql 5.7.22"
    facts.build.source = "directory"

    report = analyse(manifest, slices)

    assert report.contenders == [BASE, DIRECTORY]
    shown = [printed(report), markdown.render(report), html.render(report, slices)]
    for text in (shown[0], shown[1], shown[2].replace("<wbr>", "")):
        assert SHOWN in text
        assert DIRECTORY not in text.replace(SHOWN, "").replace(f"5.7.22 {DIRECTORY}", "")
    for text in (csv.render(report), json.render(report).split('"contender_info"')[0]):
        assert DIRECTORY in text.replace(SHOWN, "")
