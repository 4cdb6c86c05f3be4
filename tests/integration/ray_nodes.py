"""A program that starts nodes of a Ray cluster on 127.0.0.1.

    python -m tests.integration.ray_nodes DIRECTORY

Each line of standard input is a command, which is answered by a line: the address of the head, or
`done`. At the end of its input it ends all nodes.

    head                      start the head's node
    host NAME                 start a node that measures, with data, claims and cache of its own in
                              DIRECTORY/NAME
    set VARIABLE=VALUE        set a variable in the environment of nodes that start later
    kill NAME                 end all of a node by SIGKILL

`ray start` replaces 127.0.0.1 by an address that other machines reach, unless the variable below is
0, and then starts no second node.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
_SMALL = {
    "include_dashboard": False,
    "object_store_memory": 80_000_000,
    "num_gpus": 0,
    "node_ip_address": "127.0.0.1",
}


class Nodes:
    """The nodes that were started, by their names."""

    def __init__(self, directory: Path) -> None:
        os.environ["RAY_TMPDIR"] = str(directory)
        (directory / "ray").mkdir()
        self._directory = directory
        from ray.cluster_utils import Cluster  # reads the environment

        self._cluster = Cluster()
        self._nodes: dict[str, Any] = {}

    def head(self) -> str:
        """Start the head's node, which measures nothing; return its address."""
        self._nodes["head"] = self._cluster.add_node(
            **_SMALL, num_cpus=1, node_name="head", wait=False
        )
        return str(self._cluster.address)

    def host(self, name: str) -> str:
        """Start a node that measures."""
        own = self._directory / name
        own.mkdir(exist_ok=True)
        own.chmod(0o755)
        os.environ["SLOWDUST_DATA"] = str(own / "data")
        os.environ["SLOWDUST_CLAIMS"] = str(own / "claims")
        os.environ["SLOWDUST_CACHE"] = str(own / "cache")
        self._nodes[name] = self._cluster.add_node(
            **_SMALL, num_cpus=1, node_name=name, resources={"slowdust_host": 1}, wait=False
        )
        return "done"

    def set(self, variable: str) -> str:
        """Set a variable in the environment of nodes that start later."""
        name, _, value = variable.partition("=")
        os.environ[name] = value
        return "done"

    def kill(self, name: str) -> str:
        """End all processes of a node by SIGKILL."""
        self._cluster.remove_node(self._nodes.pop(name), allow_graceful=False)
        return "done"

    def close(self) -> None:
        """End all nodes."""
        self._cluster.shutdown()


def main() -> None:
    """Follow the commands."""
    nodes = Nodes(Path(sys.argv[1]))
    try:
        for line in sys.stdin:
            command, *arguments = line.split()
            print(getattr(nodes, command)(*arguments), flush=True)
    finally:
        nodes.close()


if __name__ == "__main__":
    main()
