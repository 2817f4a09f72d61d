"""What controls a running array: registers, commands that write them, control packets, resets."""
