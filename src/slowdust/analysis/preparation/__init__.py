"""Whether the contenders' tables were alike at the start, and their servers' work per operation."""
