import os
import subprocess
import sys

import pytest

from slowdust.experiment.cpus import (
    pin,
    place_clients,
    place_connections,
    usable_cpus,
)


@pytest.mark.parametrize(
    ("clients", "usable", "cpus"),
    [(1, [0, 1], [1]), (2, [2, 5, 7], [7, 5]), (3, [0, 1], [1, 0, 1]), (2, [4], [4, 4])],
)
def test_clients_take_turns_on_the_cpus(clients: int, usable: list[int], cpus: list[int]) -> None:
    assert place_clients(clients, usable) == cpus


@pytest.mark.parametrize(
    ("clients", "usable", "cpus"),
    [(1, [0, 1], [1, 0]), (2, [0, 1], [1, 0]), (3, [0, 1], None), (1, [4], [4])],
)
def test_connections_have_all_cpus_while_there_is_one_for_each_client(
    clients: int, usable: list[int], cpus: list[int] | None
) -> None:
    assert place_connections(clients, usable) == cpus


def test_a_process_stays_where_it_was_put() -> None:
    cpu = usable_cpus()[-1]
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        pin([child.pid], [cpu])
        assert os.sched_getaffinity(child.pid) == {cpu}
    finally:
        child.kill()
        child.communicate()
