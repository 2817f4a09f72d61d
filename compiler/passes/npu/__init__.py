"""Passes for NPUs.

Ttensors that stay in a core's memory, rows gathered from panels, f16 computed in f32.
"""
