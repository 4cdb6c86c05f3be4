"""The fleet: one experiment on many hosts.

`planning/` cuts an experiment into shards and hands them out, `head.py` is the loop of the machine
where the results come together, `hosts/shard.py` is what a host does, `building/` has the builds.
Only `cluster.py` knows Ray, which is an extra: everything else can be imported without it.
"""
