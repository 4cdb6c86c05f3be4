"""Experiments of several hosts joined into one (`slowdust merge`).

`join` makes it of the folders of its parts, as often as one likes: while parts grow, it is made
anew from all of them, and nothing of what it was before is kept but the user's note.
"""
