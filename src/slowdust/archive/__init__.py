"""Result directories of other tools, made into experiments."""
