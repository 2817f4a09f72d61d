"""The prover: every rule of the machine, held against a plan before it is printed."""
