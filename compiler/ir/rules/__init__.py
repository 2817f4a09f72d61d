"""What the verifier holds: the rules of instructions, programs and launches."""
