"""Programs: calls of kernels over tensors, buffers and their views."""
