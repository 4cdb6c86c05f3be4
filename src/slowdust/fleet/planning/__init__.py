"""Planning: an experiment is cut into shards, and each host gets those that it ends in time."""
