"""Watching a branch or releases night after night, with alarms for regressions."""
