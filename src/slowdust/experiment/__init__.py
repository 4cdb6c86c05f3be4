"""From a specification to measured slices."""
