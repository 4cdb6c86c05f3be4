"""The results in words: tl;dr, bands, explanations and notes."""
