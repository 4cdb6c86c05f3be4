"""Classic files written from the store, for imported and for measured experiments."""
