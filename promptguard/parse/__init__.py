"""Bytes to documents with exact spans."""
