"""Golden texts of the product in files that are easy to diff."""

from __future__ import annotations

import re

from syrupy.extensions.amber import AmberSnapshotExtension

# Directories of pytest and of `open_dir`, whose names differ from run to run.
_TEMPORARY = re.compile(r"/\S*?/(pytest-of-\w+/pytest-\d+(/popen-\w+)?/\w+|slowdust-test-\w+)")


class PlainText(AmberSnapshotExtension):
    """Golden files without quotation marks; lists have an item a line."""

    def serialize(self, data: object, **kwargs: object) -> str:
        """Serialize texts, and lists of texts, as they are read."""
        if isinstance(data, str):
            text = data
        elif isinstance(data, list | tuple) and data and {type(item) for item in data} <= {str}:
            text = "\n".join("- " + str(item).replace("\n", "\n  ") for item in data)
        else:
            text = super().serialize(data, **kwargs)
        return _TEMPORARY.sub("TMP", text)
