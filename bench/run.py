"""`make bench`: Slowdust beside its peers, as ratios of alternating pairs.

python -m bench.run [--pairs 10] [--seconds 3]
"""

from __future__ import annotations

import argparse
import itertools
import sys

from bench import import_speed, insert_client, load_generators, probe_effect, report_speed
from bench.rows import show


def main() -> None:
    """Measure everything and print the tables; exit code 1 where a goal is not met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    load_generators.add_arguments(parser)
    options = parser.parse_args()
    load_generators.check_programs()
    own = itertools.chain(
        report_speed.rows(), import_speed.rows(), probe_effect.rows(options.builds[0])
    )
    met = [
        show("Slowdust itself", own),
        *load_generators.tables(options),
        *insert_client.tables(options.builds, insert_client.RUNS),
    ]
    sys.exit(0 if all(met) else 1)


if __name__ == "__main__":
    main()
