"""Experiments, from a specification to measured slices."""
