"""AArch64: Tile IR to assembly text, and that to libraries with a C ABI."""
