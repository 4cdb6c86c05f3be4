"""One module per family of servers."""
