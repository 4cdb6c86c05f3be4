"""What a host can tell: a build against itself, and against itself slowed by a known time."""
