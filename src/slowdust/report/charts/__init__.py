"""Charts of the HTML pages, as SVG."""
