"""Result directories of other tools: what their files are called, what stands in them, and the
formulas by which the published numbers were made of them."""
