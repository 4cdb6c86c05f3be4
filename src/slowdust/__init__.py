"""Slowdust: which operations of a database server got slower, how certain that is, and why."""

__version__ = "1.0.0"
