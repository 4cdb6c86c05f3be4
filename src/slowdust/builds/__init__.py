"""Sets of server binaries: where they come from, and a cache of them."""
