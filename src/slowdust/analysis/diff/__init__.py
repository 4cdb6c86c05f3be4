"""Two experiments beside each other: what changed from the one to the other."""
