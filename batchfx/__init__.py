"""Batch import and export: every row has its own fate."""
