"""The driver process and what is said to it."""
