"""The outcome of a search, in every format."""
