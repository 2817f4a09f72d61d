"""Passes over parameters of 1 to 8 bits: how they are stored, loaded as wide words and scaled."""
