"""Sections of the HTML page for long steps."""
