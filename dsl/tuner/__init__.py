"""Finding the fastest choices of a kernel for given sizes, and remembering them."""
