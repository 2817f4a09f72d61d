"""Passes over Tile IR, one file each."""
