"""Readers of files: what a source is, and its records as blocks of text."""
