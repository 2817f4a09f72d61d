"""What moves between HBM, SBUF and PSUM: DMA transfers, copies, gathers, transposes, buffers."""
