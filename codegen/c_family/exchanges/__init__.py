"""What threads exchange.

Oother layouts, reductions and scans across lanes, warps and shared memory.
"""
