"""Plans of MongoDB: the driver's line for each stage, its inputs indented."""

from __future__ import annotations

from slowdust.formats.plans.node import Outline, PlanNode

_DIRECTIONS = ("forward", "backward")
_INDENT = "  "


def parse(text: str) -> PlanNode:
    """Return the stages as a tree."""
    nodes = [
        ((len(line) - len(line.lstrip())) // len(_INDENT), _stage(line))
        for line in text.splitlines()
    ]
    return Outline(nodes).tree()


def _stage(line: str) -> PlanNode:
    """Return a stage of `STAGE index direction`, of which an index's name may have blanks."""
    stage, _, rest = line.strip().partition(" ")
    words = rest.split(" ")
    remarks = tuple(word for word in words[-1:] if word in _DIRECTIONS)
    index = " ".join(words[:-1] if remarks else words)
    return PlanNode(stage, (line,), index=index, remarks=remarks)
