"""CUDA C from scheduled Tile IR."""
