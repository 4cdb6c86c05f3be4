"""SVG by hand: charts whose marks stretch with the page while their text does not.

A frame is an `<svg>` as wide as its container (100%), so that positions along x are percentages
and those along y pixels. Marks are drawn in a nested `<svg>` of `WIDTH` units that is stretched
without keeping its proportions; strokes do not scale, and a dot is a stroke of no length with a
round cap, so one `<path>` holds any number of dots and they stay round.

Only `content` and titles come from outside and are escaped; classes, paths and numbers are the
charts' own, and `Markup.format` would escape each of them again for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

WIDTH = 1000.0
"""Width of the drawing area in its own units."""


def brief(value: float) -> str:
    """Return a coordinate with one decimal, and none where it is whole."""
    return f"{value:.1f}".removesuffix(".0")


def share(x: float) -> str:
    """Return a position along x as percent of the frame's width."""
    return f"{x / WIDTH * 100:.2f}%"


def dots(points: Iterable[tuple[float, float]]) -> str:
    """Return path data of strokes of no length: a dot at every point."""
    return "".join(f"M{brief(x)} {brief(y)}h0" for x, y in points)


def dashes(segments: Iterable[tuple[float, float, float]]) -> str:
    """Return path data of level strokes, each (x from, x to, y)."""
    return "".join(f"M{brief(x1)} {brief(y)}H{brief(x2)}" for x1, x2, y in segments)


def lines(segments: Iterable[tuple[float, float, float, float]]) -> str:
    """Return path data of straight strokes, each (x from, y from, x to, y to)."""
    return "".join(
        f"M{brief(x1)} {brief(y1)}L{brief(x2)} {brief(y2)}" for x1, y1, x2, y2 in segments
    )


def path(css_class: str, data: str) -> Markup:
    """Return one `<path>`; nothing where there is no data."""
    return Markup(f'<path class="{css_class}" d="{data}"/>' if data else "")


def text(x: str, y: float, css_class: str, content: str, *, dx: float = 0) -> Markup:
    """Return a label at `x` (a percentage) + `dx` pixels."""
    shift = f' dx="{brief(dx)}"' if dx else ""
    return Markup(
        f'<text x="{x}" y="{brief(y)}"{shift} class="{css_class}">{escape(content)}</text>'
    )


def level(y: float, css_class: str) -> Markup:
    return Markup(f'<line x2="100%" y1="{brief(y)}" y2="{brief(y)}" class="{css_class}"/>')


def upright(x: float, y1: float, y2: float, css_class: str) -> Markup:
    """Return a line from `y1` down to `y2` at `x` drawing units."""
    at = share(x)
    return Markup(
        f'<line x1="{at}" x2="{at}" y1="{brief(y1)}" y2="{brief(y2)}" class="{css_class}"/>'
    )


def band(x1: float, x2: float, y1: float, y2: float, css_class: str) -> Markup:
    """Return a filled rectangle, x in drawing units."""
    return Markup(
        f'<rect x="{share(x1)}" width="{share(x2 - x1)}" y="{brief(y1)}"'
        f' height="{brief(y2 - y1)}" class="{css_class}"/>'
    )


def value_axis(ticks: Sequence[tuple[float, str]]) -> tuple[Markup, ...]:
    """Return a line across the frame for each tick (y, label), and the labels left of them."""
    labels = (text("0", y + 4, "tick end", label, dx=-8) for y, label in ticks)
    return (*(level(y, "grid") for y, _ in ticks), *labels)


def place_labels(
    stops: Iterable[float],
    x: Callable[[float], float],
    height: float,
    closest: float,
    form: Callable[[float], str],
) -> tuple[Markup, ...]:
    """Return labels of places below a chart, none nearer than `closest` to the one left of it."""
    labels = []
    last = -closest
    for stop in stops:
        if x(stop) - last >= closest:
            last = x(stop)
            labels.append(text(share(last), height + 15, "tick middle", form(stop)))
    return tuple(labels)


@dataclass(frozen=True)
class Frame:
    """One chart: `background` and `labels` in frame coordinates, `marks` in drawing units.

    `axis` are the labels left of it, in its height, which stay in sight while it scrolls.
    """

    title: str
    """The contents in words, for readers who cannot see the chart."""
    height: float
    css_class: str = ""
    background: tuple[Markup, ...] = ()
    marks: tuple[Markup, ...] = ()
    labels: tuple[Markup, ...] = ()
    axis: tuple[Markup, ...] = ()
    view: str | None = None
    """The `viewBox` of the marks where they have units of their own; else `WIDTH` by pixels."""
    values: Markup | None = None
    """The values of the marks, for scripts."""

    def markup(self) -> Markup:
        """Return the chart as HTML; the `<div>` around it has room for the labels of the axes."""
        height = brief(self.height)
        drawing = Markup(
            '<svg viewBox="{}" preserveAspectRatio="none" width="100%" height="{}"'
            ' class="marks">{}</svg>'
        ).format(self.view or f"0 0 {brief(WIDTH)} {height}", height, Markup().join(self.marks))
        axis = Markup('<svg class="frame axis" height="{}" aria-hidden="true">{}</svg>').format(
            height, Markup().join(self.axis)
        )
        return Markup(
            '<div class="plot {}">{}<svg class="frame" width="100%" height="{}" role="img"'
            ' aria-label="{}">{}{}{}</svg>{}</div>'
        ).format(
            self.css_class,
            axis if self.axis else "",
            height,
            escape(self.title),
            Markup().join(self.background),
            drawing,
            Markup().join(self.labels),
            self.values or "",
        )
