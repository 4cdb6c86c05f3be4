from __future__ import annotations

from slowdust.analysis.analyse import analyse
from tests.unit.synthetic import QUIET, synthetic_experiment


def test_known_shift_is_recovered() -> None:
    manifest, slices = synthetic_experiment(
        ["a", "b"],
        ["update-index", "point-query"],
        shifts={"b": {"point-query": 0.9}},
        noise=QUIET,
    )

    report = analyse(manifest, slices)

    verdicts = {(r.test, r.contender): (r.verdict, r.rqps) for r in report.results}
    assert verdicts["point-query", "b"][0] == "slower"
    assert abs((verdicts["point-query", "b"][1] or 0) - 0.9) < 0.005
    assert verdicts["update-index", "b"][0] == "same"
