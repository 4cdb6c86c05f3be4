"""The difference of two experiments, in every format."""
