"""Shapes of an analysis, which every report format prints.

`Report` is the object that `slowdust report --json` writes; docs/report.schema.json describes it.
A field that was not measured is `None` and absent from the JSON.
"""

from slowdust.analysis.model.answer import Answer
from slowdust.analysis.model.beside import BesideResult, FrontierPoint
from slowdust.analysis.model.courses import (
    ChangeCounts,
    Course,
    CourseKind,
    GroupChanges,
    TestConcurrency,
)
from slowdust.analysis.model.evidence import Evidence, EvidenceKind
from slowdust.analysis.model.explanation import Explanation, Part, PartName
from slowdust.analysis.model.functions import Fate, FunctionChange, FunctionChanges
from slowdust.analysis.model.hosts import (
    GroupResult,
    HostDisagreement,
    HostInfo,
    HostResult,
    JoinedExperiment,
)
from slowdust.analysis.model.report import (
    SCHEMA,
    ContenderInfo,
    Memory,
    Noise,
    PlanDifference,
    Report,
)
from slowdust.analysis.model.result import (
    AllTimeRatio,
    AmountDifference,
    Failures,
    MetricComparison,
    Needed,
    ResponseTime,
    Result,
    Work,
    Writers,
)
from slowdust.analysis.model.search import (
    AtRecall,
    IndexResult,
    SearchComparison,
    SearchCurve,
    SearchPoint,
)
from slowdust.analysis.model.steps import BUCKETS_US, RoleReport, Stall, StepRun
from slowdust.analysis.model.storage import StorageUse
from slowdust.analysis.model.verdict import Amount, Basis, Verdict
from slowdust.analysis.model.waits import (
    ContenderWaits,
    Difference,
    SessionStates,
    SyncCost,
    WaitCost,
)

__all__ = [
    "BUCKETS_US",
    "SCHEMA",
    "AllTimeRatio",
    "Amount",
    "AmountDifference",
    "Answer",
    "AtRecall",
    "Basis",
    "BesideResult",
    "ChangeCounts",
    "ContenderInfo",
    "ContenderWaits",
    "Course",
    "CourseKind",
    "Difference",
    "Evidence",
    "EvidenceKind",
    "Explanation",
    "Failures",
    "Fate",
    "FrontierPoint",
    "FunctionChange",
    "FunctionChanges",
    "GroupChanges",
    "GroupResult",
    "HostDisagreement",
    "HostInfo",
    "HostResult",
    "IndexResult",
    "JoinedExperiment",
    "Memory",
    "MetricComparison",
    "Needed",
    "Noise",
    "Part",
    "PartName",
    "PlanDifference",
    "Report",
    "ResponseTime",
    "Result",
    "RoleReport",
    "SearchComparison",
    "SearchCurve",
    "SearchPoint",
    "SessionStates",
    "Stall",
    "StepRun",
    "StorageUse",
    "SyncCost",
    "TestConcurrency",
    "Verdict",
    "WaitCost",
    "Work",
    "Writers",
]
