"""What each release cost, from the histories of stored experiments."""
