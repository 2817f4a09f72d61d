"""AMD Ryzen AI: Tile IR to a placed plan, and the plan to MLIR of the aie dialect."""
