"""The activity behind ``promptguard format``: find tool-schema files and rewrite them in canonical form."""
