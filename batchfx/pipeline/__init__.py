"""A chunk's text in, typed values and issues out; without any input or output."""
