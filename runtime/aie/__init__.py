"""NPUs: buffers in the memory that the array reaches, and modules as they are launched."""
