"""What the steps of each benchmark are."""
