"""All experiments of a results folder as linked pages."""
