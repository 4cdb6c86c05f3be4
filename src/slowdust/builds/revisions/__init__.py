"""Sources of a build: commits, directories and archives, and the tree that follows them."""
