"""How long a slice should be: the interval that the same time of measuring gives, by length.

An A/A comparison (one build twice) is repeated with each length, in the order L1 .. Ln Ln .. L1,
so that a drift of the machine meets all of them. Printed per test and length: rqps, and half the
width of its interval, in percent, as the mean of the two passes.

    python -m bench.slice_length [--seconds 30] [--build postgres@17.6]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from slowdust.analysis.analyse import analyse
from slowdust.analysis.model import Result
from slowdust.experiment.journal import Beginning
from slowdust.experiment.live import PlainView
from slowdust.experiment.run import run_experiment
from slowdust.experiment.spec import parse_spec

LENGTHS = (0.05, 0.1, 0.25, 0.5)
TESTS = ("point-query", "range-covered-pk", "update-index")


def main() -> None:
    """Measure and print the table."""
    options = _options()
    results: dict[tuple[str, float], list[Result]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, length in enumerate(LENGTHS + LENGTHS[::-1]):
            for result in _compare(options, length, Path(folder), f"pass-{number}"):
                results.setdefault((result.test, length), []).append(result)
    print(f"{'test':<20}{'slice':>8}{'slices':>8}{'rqps':>16}{'half-width':>14}")
    for test in TESTS:
        for length in LENGTHS:
            both = results[test, length]
            rqps = " ".join(f"{result.rqps:.3f}" for result in both)
            slices = sum(result.slices for result in both) // len(both)
            print(f"{test:<20}{length:>7}s{slices:>8}{rqps:>16}{_half_width(both):>13.2%}")


def _compare(options: argparse.Namespace, length: float, folder: Path, name: str) -> list[Result]:
    spec = parse_spec(
        {
            "name": name,
            "contenders": [options.build, options.build],
            "tests": list(TESTS),
            "slice": length,
            "incarnations": 2,
            # Nothing may be settled early: every length gets the same time.
            "margin": 1e-6,
            "budget": options.seconds * 2 * len(TESTS),
        }
    )
    experiment = run_experiment(spec, folder, Beginning.FRESH, PlainView())
    report = analyse(experiment.read_manifest(), experiment.read_slices())
    return [result for result in report.results if result.contender != report.base]


def _half_width(results: list[Result]) -> float:
    widths = [
        (result.high - result.low) / 2
        for result in results
        if result.high is not None and result.low is not None
    ]
    return sum(widths) / len(widths)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30, help="per test and contender")
    parser.add_argument("--build", default="postgres@17.6")
    return parser.parse_args()


if __name__ == "__main__":
    main()
