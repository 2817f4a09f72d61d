"""Passes for NeuronCores.

Wwhich axis of a tile lies along the partitions, what stays in SBUF, and that it fits.
"""
