"""Slowdust: what got slower between two database servers, how sure are we, and why."""

__version__ = "0.1.0"
