"""The commands about all experiments of a results folder, one module each."""
