"""The program of a HIP text as FlyDSL source."""
