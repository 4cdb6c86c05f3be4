"""Read and write the files of other tools: bytes to records and back."""
