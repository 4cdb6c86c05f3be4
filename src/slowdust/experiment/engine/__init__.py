"""The loop over starts of the servers, and the way to each test."""
