"""Warp specialization.

Producer warps only copy, consumer warps compute, and two warpgroups may alternate (ping-pong).
"""
