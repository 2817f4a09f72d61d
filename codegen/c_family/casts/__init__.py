"""Casts: words of results from words of codes, by rules of bits."""
