"""Products.

Mmatrix instructions over registers, operands through shared memory, scaled operands.
"""
