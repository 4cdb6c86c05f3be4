"""Versions over time, from any set of experiments."""
