"""Claims of a host's CPUs and disk: one experiment at a time measures on each."""
