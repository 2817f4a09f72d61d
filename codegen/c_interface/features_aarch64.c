/* The CPU's features by the auxiliary vector (kernel, Documentation/arch/arm64/elf_hwcaps.rst). */
static int dslc_has(int word, unsigned long bits) { return (getauxval(word) & bits) == bits; }
