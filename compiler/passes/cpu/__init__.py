"""Passes for CPUs.

Bbodies for single rows, and weights in the order of the registers that multiply them.
"""
