"""The engines of a NeuronCore: each instruction checked, computed and timed."""
