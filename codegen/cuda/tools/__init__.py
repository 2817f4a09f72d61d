"""NVRTC, nvcc, and machine code read back."""
