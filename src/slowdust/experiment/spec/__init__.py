"""The specification of an experiment, from a file or from options."""
