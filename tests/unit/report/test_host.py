"""The state of the host in reports."""

from __future__ import annotations

from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.stored import analyse
from slowdust.report import html
from slowdust.report.formats import REPORTS
from slowdust.report.markdown import report as markdown
from slowdust.store.finding import Finding, Severity
from tests.unit.report.outline import headings, words
from tests.unit.synthetic import QUIET, synthetic_experiment

GOVERNOR = Finding(
    check="Frequency governor",
    severity=Severity.PROBLEM,
    state="The frequency governor is schedutil.",
    effect="The clock follows the load.",
    remedy="sudo cpupower frequency-set -g performance",
)
OTHERS = [
    Finding(check="PMU", severity=Severity.NOTE, state="There is no PMU.", effect="No counts."),
    Finding(check="Turbo", severity=Severity.UNKNOWN, state="Turbo cannot be read here."),
    Finding(check="SMT", severity=Severity.OK, state="Each CPU is a core of its own."),
]


def reports(*findings: Finding) -> tuple[str, str]:
    """Return the report of an experiment with these findings, as Markdown and as a page."""
    manifest, slices = synthetic_experiment(["a@1", "a@2"], ["scan"], noise=QUIET, blocks=2)
    manifest.findings = list(findings)
    report = analyse(manifest, slices)
    return markdown.render(report), html.render(report, slices, [])


def test_bad_states_come_with_why_and_what_mends_them(snapshot: SnapshotAssertion) -> None:
    text, page = reports(GOVERNOR, *OTHERS)
    section = text.partition("## State of the host\n\n")[2].partition("\n## ")[0]
    assert section.splitlines() == snapshot
    assert "<code>sudo cpupower frequency-set -g performance</code>" in page
    assert words(page.partition('<section id="host">')[2].partition("</section>")[0]) == snapshot


def test_a_host_without_bad_states_has_no_table(snapshot: SnapshotAssertion) -> None:
    text, page = reports(*OTHERS[2:])
    assert text.partition("## State of the host\n\n")[2].partition("\n## ")[0] == snapshot
    assert words(page.partition('<section id="host">')[2].partition("</section>")[0]) == snapshot


def test_experiments_from_before_the_checks_have_no_such_section(
    snapshot: SnapshotAssertion,
) -> None:
    text, page = reports()
    assert headings(text) == snapshot
    assert 'id="host"' not in page


def test_saved_reports_name_no_process_to_stop() -> None:
    stop = Finding(
        check="Other programs",
        severity=Severity.WARNING,
        state="Other programs use 50% of a core: make (pid 4711).",
        remedy="kill -STOP 4711   # if they may stand still; kill -CONT 4711 afterwards",
    )
    manifest, slices = synthetic_experiment(["a", "b"], ["scan"], blocks=4)
    manifest.findings = [stop]

    report = analyse(manifest, slices)

    for form in REPORTS:
        assert "kill -" not in form.render(report, slices, []), form.name
    assert [finding.remedy for finding in report.findings] == ["slowdust doctor"]
    assert manifest.findings == [stop], "the record stays as it is"
