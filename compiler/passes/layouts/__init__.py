"""Which thread of a block holds which element of each tile.

Llayouts chosen by cost, and taken away where there are no threads.
"""
