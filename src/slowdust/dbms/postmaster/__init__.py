"""Questions to a running server of PostgreSQL, and the readers of its answers."""
