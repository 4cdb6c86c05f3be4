"""The search for the releases or commits that changed a test."""
