"""Summary tables of sysbench's runs: reading them, and what is made of them."""
