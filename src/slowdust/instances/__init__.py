"""Running servers: their directories, their processes and the process that owns them."""
