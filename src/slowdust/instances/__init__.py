"""Running servers: their directories, processes and owner."""
