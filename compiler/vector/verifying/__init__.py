"""The verifier: what every pass may take for granted about Vector IR."""

from dslc.compiler.vector.verifying.verify import verify

__all__ = ["verify"]
