"""Shapes of an analysis, which every report format prints.

`Report` is the object that `slowdust report --json` writes; docs/report.schema.json describes it.
A field that was not measured is `None` and absent from the JSON.
"""

from slowdust.analysis.model.answer import Answer
from slowdust.analysis.model.courses import (
    ChangeCounts,
    Course,
    CourseKind,
    GroupChanges,
    TestConcurrency,
)
from slowdust.analysis.model.explanation import Explanation, Part, PartName
from slowdust.analysis.model.functions import Fate, FunctionChange, FunctionChanges
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
    Amount,
    Basis,
    MetricComparison,
    Needed,
    ResponseTime,
    Result,
    Verdict,
    Work,
    Writers,
)
from slowdust.analysis.model.steps import BUCKETS_US, RoleReport, Stall, StepRun
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
    "Answer",
    "Basis",
    "ChangeCounts",
    "ContenderInfo",
    "ContenderWaits",
    "Course",
    "CourseKind",
    "Difference",
    "Explanation",
    "Fate",
    "FunctionChange",
    "FunctionChanges",
    "GroupChanges",
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
    "SessionStates",
    "Stall",
    "StepRun",
    "SyncCost",
    "TestConcurrency",
    "Verdict",
    "WaitCost",
    "Work",
    "Writers",
]
