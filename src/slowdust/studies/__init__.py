"""Studies: questions that several experiments answer."""
