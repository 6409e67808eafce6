"""The nouns of a batch: frozen, without any input or output."""
