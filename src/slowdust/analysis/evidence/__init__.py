"""Exact evidence of why contenders differ: what noise cannot touch."""
