"""The outcome of a search for capacities, in every format."""
