"""Tile IR to CUDA C, and CUDA C to binaries; neither a GPU nor a driver is needed."""
