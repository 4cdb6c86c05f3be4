"""The driver process and its protocol."""
