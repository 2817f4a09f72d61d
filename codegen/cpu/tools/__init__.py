"""What LLVM makes, as files that systems load and link: libraries and archives of ELF and Mach-O."""
