"""Counting of the work that a server does per operation, apart from all timing."""
