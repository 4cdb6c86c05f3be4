"""One result explained, in every format."""
