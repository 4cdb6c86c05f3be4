"""Reports and histories in HTML, Markdown, CSV, JSON and the classic files."""
