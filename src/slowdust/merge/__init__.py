"""Merge experiments of several hosts into one (`slowdust merge`).

`merge` builds it from the folders of its parts and can be repeated: while parts grow, it is rebuilt
from all of them. Only the user's note is kept.
"""
