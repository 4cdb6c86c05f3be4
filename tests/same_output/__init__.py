"""Compare what two revisions of Slowdust print of the same stored experiments, byte for byte."""
