"""What releases cost, in every format."""
