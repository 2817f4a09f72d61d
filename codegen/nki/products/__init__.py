"""Products on the tensor engine.

Sstationary and moving operands, pieces in PSUM, transposes ahead.
"""
