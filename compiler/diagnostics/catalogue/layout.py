"""DSL03xx: layouts."""

ENTRIES: dict[str, tuple[str, str]] = {
    "DSL0300": (
        "A layout's extents are not sizes",
        "The arguments of `local`, `spatial`, `column_local`, `column_spatial` and `replicate` are "
        "integers of at least 1, known at compile time; `modes` takes lists of them.\n\n"
        "Wrong:  spatial(8, 0)\n"
        "Right:  spatial(8, 4)",
    ),
    "DSL0301": (
        "The modes of a layout do not count the tile",
        "In `modes(shape, spatial=, local=)` each mode [size, axis, stride] moves the index by stride "
        "elements along an axis, and all modes of an axis together must reach every element once: "
        "sorted by stride, each stride is the product of the sizes below it.\n\n"
        "Wrong:  modes([8], spatial=[[4, 0, 1]])\n"
        "Right:  modes([8], spatial=[[4, 0, 2]], local=[[2, 0, 1]])",
    ),
    "DSL0302": (
        "The axes of a layout do not fit",
        "An axis counts from 0, or from the end with a minus; a layout is broadcast to a rank of at "
        "least its own; layouts of one tile have one shape.\n\n"
        "Wrong:  reduce(spatial(8, 4), dims=[2])\n"
        "Right:  reduce(spatial(8, 4), dims=[1])",
    ),
    "DSL0303": (
        "A layout is not divisible by another",
        "f / g is the layout h with f == h * g. It exists where g is the innermost part of f: the last "
        "digits of the threads and of the elements in a thread are g's, and g's tile divides f's.\n\n"
        "Wrong:  local(2, 4) / local(4, 1)\n"
        "Right:  local(2, 4) / local(1, 2)          # local(2, 2)",
    ),
    "DSL0304": (
        "A layout cannot take that shape",
        "`reshape` keeps the elements in row-major order, so the number of elements stays, and no "
        "digit of the layout may lie in two axes of the new shape.\n\n"
        "Wrong:  reshape(column_local(2, 3), [3, 2])\n"
        "Right:  reshape(column_local(2, 4), [2, 2, 2])",
    ),
    "DSL0305": (
        "A slice of a layout is no layout",
        "A slice of a tile has a layout where every thread holds the same share of it: it starts and "
        "ends with whole digits, and those that it fixes are local.\n\n"
        "Wrong:  slice(spatial(4, 2), axis=0, start=0, size=2)\n"
        "Right:  slice(local(4, 1).spatial(1, 2), axis=0, start=0, size=2)",
    ),
    "DSL0306": (
        "A swizzle does not fit its layout",
        "swizzle(f, dim=1, log_step=0) replaces the coordinate y along `dim` by y xor (x >> log_step), "
        "x being the coordinate of the axis before. The extent along `dim` is even and that of the "
        "other axis a multiple of 2**log_step, so that no element leaves the tile.\n\n"
        "Wrong:  swizzle(local(16, 7), dim=1)\n"
        "Right:  swizzle(local(16, 8), dim=1)",
    ),
    "DSL0307": (
        "A layout that replicates has no inverse",
        "Where several threads hold one element, the element does not say its thread. `locate` lists "
        "all holders.\n\n"
        "Wrong:  inverse(replicate(4).local(1, 4))\n"
        "Right:  inverse(spatial(4).local(4))",
    ),
    "DSL0308": (
        "Tiles that lie differently do not concatenate",
        "`concat` puts tiles of one layout side by side; convert the others first.\n\n"
        "Wrong:  concat([local(2, 2), spatial(2, 2)], 0)\n"
        "Right:  concat([spatial(2, 2), spatial(2, 2)], 0)",
    ),
    "DSL0310": (
        "A text is no layout expression",
        "A layout is made of calls such as `local(2, 1)`, joined by `.` or `*` for composition and `/` "
        "for division; arguments are integers, lists of them, and layouts.\n\n"
        "Wrong:  local(2, 1), spatial(8, 4)\n"
        "Right:  local(2, 1).spatial(8, 4)",
    ),
    "DSL0311": (
        "No such layout function, or arguments that do not fit",
        "The functions are local, spatial, column_local, column_spatial, replicate, modes, swizzle, "
        "reduce, broadcast, permute, reshape, squeeze, unsqueeze, slice, product, concat, divide, "
        "left_divide, complement and inverse. In a chain, `f.g(x)` is `f * g(x)`.\n\n"
        "Wrong:  spatial(8, 4).reduce(dims=[1])\n"
        "Right:  reduce(spatial(8, 4), dims=[1])",
    ),
    "DSL0313": (
        "A tile does not lie in that memory",
        "To say how a tile in registers meets a memory, the memory's layout has one thread (its local "
        "number is the address) and the tile, at its offset, lies within the memory's shape.\n\n"
        "Wrong:  spatial(8, 4) in a memory local(4, 4)\n"
        "Right:  spatial(8, 4) in a memory local(8, 4)",
    ),
    "DSL0314": (
        "The memory cannot be accessed so",
        "One access of a lane moves whole bytes, at most as many bits as the machine's widest access, "
        "and each thread's elements are a multiple of it.",
    ),
    "DSL0315": (
        "A layout is too large for a picture",
        "A picture has a cell for each element. Draw a factor of the layout: what stands left of the "
        "last `.` repeats it.\n\n"
        "Wrong:  local(512, 512).spatial(8, 4)\n"
        "Right:  spatial(8, 4)",
    ),
    "DSL0320": (
        "A thread's bits are not whole bytes",
        "Low-bit elements are stored as bytes, each thread's apart, so the elements of a thread times "
        "the bits of one must be a multiple of 8. Give each thread more elements, or fix the storage "
        "with `packed row`.\n\n"
        "Wrong:  u1 tile of spatial(8, 4).local(1, 4)     # 4 bits a thread\n"
        "Right:  u1 tile of spatial(8, 4).local(1, 8)     # 8 bits a thread",
    ),
}
