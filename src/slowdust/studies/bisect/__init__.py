"""The search for the versions or commits at which a test changed."""
