"""The back ends in which FerretDB keeps its documents."""
