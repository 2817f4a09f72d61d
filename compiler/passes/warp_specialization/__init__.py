"""Warp specialization.

Pproducer warps that only copy, consumers that compute, ping-pong between warpgroups.
"""
