"""Code for CPUs through LLVM: scheduled Tile IR to Vector IR, and that to machine code."""
