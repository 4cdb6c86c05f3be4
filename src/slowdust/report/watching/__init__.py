"""The state of a watch, in every format."""
