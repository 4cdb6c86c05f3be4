"""Builds of a fleet: nodes compile them, and hosts get them by their content."""
