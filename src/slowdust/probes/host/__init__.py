"""Probes of the host, and its description."""
