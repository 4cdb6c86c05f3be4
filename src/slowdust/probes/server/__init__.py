"""Probes of a server's processes."""
