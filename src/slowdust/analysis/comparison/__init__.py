"""Contenders compared with the base: ratios, intervals and verdicts."""
