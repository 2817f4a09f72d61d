"""Loops and branches: unrolled as the kernel is traced, or counted by the machine."""
