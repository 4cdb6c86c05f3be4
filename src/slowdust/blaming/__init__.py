"""The measuring of the releases of a range, to see what each of them cost."""
