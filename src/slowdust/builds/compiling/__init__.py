"""Servers that are built from source: sets of flags, recipes, and the run of their commands."""
