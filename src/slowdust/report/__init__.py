"""From an analysis to HTML, Markdown, CSV and JSON."""
