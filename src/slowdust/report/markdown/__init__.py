"""The report and the history as Markdown."""
