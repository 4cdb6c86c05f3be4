"""All experiments of a results folder as pages that lead to each other."""
