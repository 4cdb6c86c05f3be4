"""A fleet: one experiment on the hosts of a Ray cluster.

`lab.py` is the loop of the head, where the results come together. `shards.py` cuts an experiment,
`queue.py` has the record of who measures what, `hosts.py` is what a host does, `build_transfer.py`
pushes builds. Only `ray.py` knows Ray, an extra: the rest can be imported without it.
"""

DEFAULT_ADDRESS = "127.0.0.1:6379"
"""The address of a head that was started on this machine."""
