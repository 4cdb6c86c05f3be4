"""Observation of what servers wait for, apart from all timing."""
