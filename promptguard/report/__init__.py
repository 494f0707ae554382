"""A result as text, JSON, Markdown or JUnit: one file each, no arithmetic of its own."""
