"""The plan as MLIR of the aie dialect: by object FIFOs, and by locks and buffer descriptors."""
