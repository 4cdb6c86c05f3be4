"""Experiments on disk: a manifest and one record per slice."""
