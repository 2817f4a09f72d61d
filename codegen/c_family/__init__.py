"""What CUDA C and HIP C++ share: scalars, register tiles, accesses, control flow as C text."""
