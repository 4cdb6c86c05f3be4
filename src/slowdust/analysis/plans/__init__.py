"""Plans compared as trees: what differs in the way a statement is executed, in words."""

from __future__ import annotations

from slowdust.analysis.plans.compare import PlanComparison, PlanLine, compare_plans, render_plan

__all__ = ["PlanComparison", "PlanLine", "compare_plans", "render_plan"]
