"""LLVM below Vector IR: its text, and the engine that makes code of it."""
