"""Hosts of a fleet: what each of them does, and which of them take part."""
