"""A fleet: one experiment on the hosts of a Ray cluster.

`lab.py` is the loop of the head, which collects the results. `shards.py` splits an experiment,
`queue.py` has the record of all placements, `hosts.py` is the work of a host, and
`build_transfer.py` pushes builds. Only `ray.py` uses Ray, an extra: all other modules can be
imported without it.
"""

DEFAULT_ADDRESS = "127.0.0.1:6379"
"""The address of a head on this machine."""
