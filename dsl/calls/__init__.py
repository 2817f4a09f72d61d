"""A call of a kernel: its signature, its arguments as the machine takes them, its options."""
