"""What servers waited for: each contender's waits per operation, beside the base's."""
