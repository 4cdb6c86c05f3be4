"""A node of a plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class PlanNode:
    """An operator with its inputs, and the words that its server has for it.

    The root of a plan that is a list of steps has neither an operator nor lines.
    """

    operator: str
    """The server's word: 'Index Scan', 'Hash Join', 'ref', 'SEARCH', 'IXSCAN'."""
    lines: tuple[str, ...] = ()
    """The node's own lines as the server prints them, indented; those of its inputs follow."""
    relation: str = ""
    """The table, function or CTE that it reads or changes, where the server prints that."""
    alias: str = ""
    """The name that it has in the statement."""
    index: str = ""
    join: str = ""
    """The kind of a join, but for inner ones: 'Left', 'Semi'; of MySQL the algorithm of its join
    buffer."""
    role: str = ""
    """What it is to the node above, unless an input: 'SubPlan 1', 'CTE c', 'dependent subquery'."""
    conditions: tuple[tuple[str, str], ...] = ()
    """Conditions and keys with their placement: ('Index Cond', '(id = 5)')."""
    remarks: tuple[str, ...] = ()
    """All else that tells how it works: 'Using filesort', 'COVERING'."""
    workers: int = 0
    """Parallel workers that are planned."""
    children: tuple[PlanNode, ...] = ()

    def walk(self) -> Iterator[PlanNode]:
        """Yield the node and all beneath it, in the order in which a server prints them."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass
class Outline:
    """Nodes with the column at which each begins; they become a tree.

    A node belongs to the last one before it that begins further to the left.
    """

    nodes: list[tuple[int, PlanNode]]

    def tree(self) -> PlanNode:
        """Return the tree, below a root without an operator if several nodes are leftmost."""
        place = 0

        def siblings(beyond: int) -> tuple[PlanNode, ...]:
            """Take the nodes from the next one on that begin further to the right than `beyond`."""
            nonlocal place
            taken: list[PlanNode] = []
            while place < len(self.nodes) and self.nodes[place][0] > beyond:
                column, node = self.nodes[place]
                place += 1
                children = siblings(column)
                taken.append(replace(node, children=(*node.children, *children)))
            return tuple(taken)

        roots = siblings(-1)
        return roots[0] if len(roots) == 1 else PlanNode("", children=roots)
