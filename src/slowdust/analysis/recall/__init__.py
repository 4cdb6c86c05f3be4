"""Approximate searches: what they find, and how fast they are where they find as much."""
