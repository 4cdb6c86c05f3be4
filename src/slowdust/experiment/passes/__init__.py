"""The passes: a module for each way of observing tests."""
