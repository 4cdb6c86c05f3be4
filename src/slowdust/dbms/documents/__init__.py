"""What the servers have in common that speak MongoDB's protocol."""
