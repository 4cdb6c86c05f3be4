"""The fleet: one experiment on many hosts.

`planner.py` cuts an experiment into shards and hands them out, `head.py` is the loop of the
machine where the results come together, `shard.py` is what a host does. Only `cluster.py` knows
Ray, which is an extra: everything else can be imported without it.
"""
