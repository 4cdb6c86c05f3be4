"""Sections of a report: each is a function from the report, for all media."""
