"""What the host and the servers used during a slice."""
