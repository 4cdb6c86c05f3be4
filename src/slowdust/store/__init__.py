"""Experiments on disk: a manifest, and a record for each slice."""
