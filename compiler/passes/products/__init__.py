"""Passes over products.

Aasynchronous ones (wgmma), slices along K, split accumulators, fused additions.
"""
