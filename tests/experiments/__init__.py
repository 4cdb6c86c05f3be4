"""One small stored experiment of every kind, and the recipes that recorded them."""
