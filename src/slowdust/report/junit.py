"""The report as JUnit XML: a test case for each result of a contender other than the base."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from slowdust.analysis.model import Report, Result
from slowdust.analysis.results.failures import fails, sentence_about
from slowdust.ratios import with_interval, work_ratio
from slowdust.store.profile import Profile
from slowdust.store.slice import Slice
from slowdust.wording import step_label


def render(report: Report, _slices: Sequence[Slice] = (), _profiles: Sequence[Profile] = ()) -> str:
    """Return a suite of test cases: slower is a failure, unsure and not compared are skipped.

    A test that fails on the contender is an error.
    The class of a case is its contender; its time is the time spent measuring it.
    """
    compared = [result for result in report.results if result.contender != report.base]
    failures = sum(result.verdict == "slower" for result in compared)
    errors = sum(fails(result.failures) for result in compared)
    skipped = sum(result.verdict in ("unsure", None) for result in compared) - errors
    suite = ET.Element(
        "testsuite",
        name=report.experiment,
        tests=str(len(compared)),
        failures=str(failures),
        errors=str(errors),
        skipped=str(skipped),
    )
    if report.started:
        suite.set("timestamp", report.started)
    levels = {result.clients for result in report.results}
    for result in compared:
        suite.append(_case(result, levels, report.base))
    ET.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suite, encoding="unicode")}\n'


def _case(result: Result, levels: set[int], base: str) -> ET.Element:
    case = ET.Element(
        "testcase",
        classname=result.contender,
        name=step_label(result.test, result.clients, levels),
    )
    if result.measured_s is not None:
        case.set("time", f"{result.measured_s:.3f}")
    if result.verdict == "slower":
        message = f"slower than {base}: {_rate(result)}"
        ET.SubElement(case, "failure", type="slower", message=message).text = message
    elif fails(result.failures):
        message = sentence_about([result], case.get("name", ""))
        ET.SubElement(case, "error", type="failing", message=message).text = message
    elif result.verdict is None:
        ET.SubElement(case, "skipped", message="not compared")
    elif result.verdict == "unsure":
        ET.SubElement(case, "skipped", message=f"unsure: {_rate(result)}")
    text = f"{result.verdict or 'not compared'} {_rate(result)}".rstrip()
    if result.work is not None and result.work.ratio is not None:
        text += f"; work {work_ratio(result.work.ratio.value)} {result.work.verdict or ''}".rstrip()
    ET.SubElement(case, "system-out").text = text
    return case


def _rate(result: Result) -> str:
    """Return 'rqps 0.93 [0.90, 0.96]'; nothing where there is no ratio."""
    return "" if result.ratio is None else f"rqps {with_interval(result.ratio)}"
