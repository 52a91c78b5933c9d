"""What a run looks like: a terminal table, Markdown, JSON and one HTML file."""
