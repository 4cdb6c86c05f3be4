"""Work: counted instructions per operation of each contender, beside the base's."""
