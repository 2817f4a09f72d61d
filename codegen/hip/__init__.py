"""HIP C++ for AMD Instinct GPUs."""
