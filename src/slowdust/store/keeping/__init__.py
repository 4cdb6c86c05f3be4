"""What a results folder keeps: names of experiments, notes beside them, bundles of them."""
