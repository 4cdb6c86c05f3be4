"""Sizes of builds and of build trees, in the formats of reports."""
