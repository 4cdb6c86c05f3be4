"""Functions: where the work of a contender is that the base has not, and the reverse."""
