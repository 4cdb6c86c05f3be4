"""The watch of a branch or of releases: night after night, with alarms for regressions."""
