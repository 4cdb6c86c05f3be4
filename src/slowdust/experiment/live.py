"""Two views of a running experiment: a live one in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.prompt import Confirm
from rich.table import Table
from rich.text import Text

from slowdust.analysis.story.answer import is_open
from slowdust.experiment.view import InterimVerdict, Status, View
from slowdust.ratios import at_most, change, with_bound
from slowdust.stats.verdict import DIFFERENT
from slowdust.text import visible
from slowdust.units import Second, format_duration
from slowdust.wording import clients

_PLAIN_EVERY: Second = 10.0
_WAITING_EVERY: Second = 60.0
_STYLES = {"faster": "green", "slower": "red", "same": "default", "unsure": "yellow"}


@contextmanager
def open_view() -> Iterator[View]:
    """Open the view that suits standard error: live on a terminal, else plain lines."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield PlainView()
        return
    view = _LiveView(console)
    with Live(view, console=console, refresh_per_second=4, transient=True) as view.drawing:
        yield view


def describe(verdict: InterimVerdict) -> str:
    """Describe a contender's interim result, as bounds of its throughput relative to the base's.

    `postgres@17.6: faster, at least 2.2%`, `postgres@17.6: at most 4% slower, at most 9% faster`.
    """
    return f"{verdict.contender}: {_known(verdict)}"


def _known(verdict: InterimVerdict) -> str:
    if verdict.fails:
        return f"all operations fail, {verdict.fails}"
    ratio = verdict.ratio
    if ratio is None:
        return "no block measured together with the base yet"
    if ratio.interval is None or is_open(*ratio.interval):
        return "no interval yet"
    low, high = ratio.interval
    if ratio.verdict in DIFFERENT:
        words = with_bound(ratio.verdict, low if ratio.verdict == "faster" else high)
    else:
        sides = [f"at most {at_most(bound)}" for bound in (low, high)]
        if low >= 1 or high <= 1:  # the interval is on one side, but not significant
            sides = [f"perhaps {sides[1 if low >= 1 else 0].removeprefix('at most ')}"]
        words = ", ".join([*(["same"] if ratio.verdict == "same" else []), *sides])
    typical = (
        "" if verdict.typical is None else f" over all time, typically {change(verdict.typical)}"
    )
    return f"{words}{typical}"


class PlainView:
    """Lines on standard error: one per phase and per finished turn, and one every few seconds."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._reason = ""

    def phase(self, text: str) -> None:
        self._print(text)

    def waiting(self, why: str, so_far: Second) -> None:
        if why != self._reason or time.monotonic() - self._last >= _WAITING_EVERY:
            self._reason = why
            self._print(_waiting(why, so_far))

    def progress(self, done: int, total: int) -> None:
        if time.monotonic() - self._last >= _PLAIN_EVERY and total:
            self._print(f"  {done / total:.0%}")

    def block(self, status: Status) -> None:
        if time.monotonic() - self._last >= _PLAIN_EVERY:
            self._print(f"  {_line(status)}")

    def step_done(self, status: Status) -> None:
        self._print(_line(status))

    def confirm(self, question: str) -> bool:
        del question
        return False

    def warning(self, text: str) -> None:
        self._print(f"warning: {text}")

    def _print(self, text: str) -> None:
        self._last = time.monotonic()
        print(visible(text), file=sys.stderr, flush=True)


class _LiveView:
    """A few lines that are redrawn in place; lines about finished turns scroll above them."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.drawing: Live | None = None
        """Draws this view; stopped while the user is asked."""
        self._phase = ""
        self._done = 0
        self._total = 0
        self._status: Status | None = None

    def __rich__(self) -> Group:
        parts: list[Text | Table | ProgressBar] = []
        if self._status is not None:
            verdicts = Table.grid(padding=(0, 2))
            for verdict in self._status.verdicts:
                ratio = verdict.ratio
                style = _STYLES.get((ratio and ratio.verdict) or "", "default")
                verdicts.add_row(Text(describe(verdict), style=style))
            parts += [_headline(self._status), verdicts]
            parts.append(
                ProgressBar(total=self._status.budget, completed=self._status.measured, width=60)
            )
        if self._phase:
            share = f" {self._done / self._total:.0%}" if self._total else ""
            parts.append(Text(self._phase + share, style="dim"))
        return Group(*parts)

    def phase(self, text: str) -> None:
        self._phase, self._done, self._total = text, 0, 0

    def waiting(self, why: str, so_far: Second) -> None:
        self.phase(_waiting(why, so_far))

    def progress(self, done: int, total: int) -> None:
        self._done, self._total = done, total

    def block(self, status: Status) -> None:
        self._phase = ""
        self._status = status

    def step_done(self, status: Status) -> None:
        self.block(status)
        self._console.print(visible(_line(status)), highlight=False, markup=False)

    def confirm(self, question: str) -> bool:
        if self.drawing is None or not sys.stdin.isatty():
            return False
        self.drawing.stop()
        try:
            return Confirm.ask(visible(question), console=self._console, default=False)
        except EOFError:
            return False
        finally:
            self.drawing.start()

    def warning(self, text: str) -> None:
        warning = visible(f"warning: {text}")
        self._console.print(warning, style="yellow", highlight=False, markup=False)


def _waiting(why: str, so_far: Second) -> str:
    return f"{why}; {format_duration(round(so_far))} so far (Ctrl-C stops)"


def _line(status: Status) -> str:
    at = f" x{status.clients}" if status.clients > 1 else ""
    so_far = status.rate or "no comparison yet"
    verdicts = "; ".join(map(describe, status.verdicts)) or so_far
    return f"{_place(status)} {status.test}{at}: {verdicts} ({status.extent}; {_left(status)})"


def _place(status: Status) -> str:
    return f"{status.step_number}/{status.steps}"


def _left(status: Status) -> str:
    """Format the remaining wall time: 'about 4m05s left, 40s of it after the timed part'."""
    if status.left is None:
        return "time left unknown"
    left = f"about {format_duration(round(status.left))} left"
    if not status.following:
        return left
    return f"{left}, {format_duration(round(status.following))} of it after the timed part"


def _headline(status: Status) -> Text:
    settled = "" if status.settled is None else f"{status.settled} decided  ·  "
    return Text.assemble(
        (status.test, "bold"),
        f"  {clients(status.clients)}  ·  test "
        f"{_place(status).replace('/', ' of ')}  ·  {status.extent} of the servers  ·  {settled}"
        f"{_left(status)}",
    )
