"""DSL04xx: the text of Tile IR and its verifier."""

ENTRIES: dict[str, tuple[str, str]] = {
    "DSL0401": (
        "malformed Tile IR text",
        "The text is not Tile IR as the printer writes it: a word, a bracket or the end of a line is "
        "missing at the place shown.\n"
        "Wrong: `%y = add %x %x : f32[16]`. Right: `%y = add %x, %x : f32[16]`.",
    ),
    "DSL0402": (
        "unknown name in Tile IR text",
        "A tile, memory, scalar, dtype or instruction is named that nothing has defined before this "
        "place.\n"
        "Wrong: `%y = ad %x, %x : f32[16]`. Right: `%y = add %x, %x : f32[16]`.",
    ),
    "DSL0403": (
        "a name defined twice in Tile IR text",
        "Every tile, memory and scalar of a kernel has a name of its own, in nested bodies too.\n"
        "Wrong: two lines that begin with `%x =`. Right: `%x =` and `%x_1 =`.",
    ),
    "DSL0404": (
        "operands that do not fit in Tile IR text",
        "The parts of a statement do not go together: an operator over two dtypes, a missing argument, "
        "a tile without a shape, results and carried values that differ in number.\n"
        "Wrong: `let x: i32 = n + i32(1)` with an index n.\n"
        "Right: `let x: i32 = cast(n, i32) + i32(1)`.",
    ),
    "DSL0410": (
        "a name used where it is not defined",
        "Tile IR is in single-assignment form: a tile or scalar is defined once, and every use lies "
        "after its definition in the same body or inside it. Values leave a loop or a branch only as "
        "its results.\n"
        "Wrong: using a tile of a loop's body after the loop. Right: carry it and use the result.",
    ),
    "DSL0411": (
        "a name defined twice",
        "A tile, a scalar's name or a memory has two definitions in one kernel.\n"
        "Wrong: two `let i` with other values. Right: `let i` and `let i_1`.",
    ),
    "DSL0412": (
        "shapes that do not fit",
        "The shapes of an instruction's operands and result break its rule: elementwise operands have "
        "one shape, a reduction drops its axis, `dot` takes [m, k] and [k, n].\n"
        "Wrong: `%z = add %x, %y : f32[16]` with %y: f32[8]. Right: broadcast %y first.",
    ),
    "DSL0413": (
        "dtypes that do not fit",
        "The dtypes of an instruction's operands and result break its rule: elementwise operands have "
        "one dtype, comparisons give bool, arithmetic needs a dtype that computes.\n"
        "Wrong: `%z = add %x, %y : f32[16]` with %y: f16[16]. Right: cast %y to f32 first.",
    ),
    "DSL0414": (
        "a layout that does not fit its tile",
        "A layout's shape is its tile's shape, and the two sides of a view hold the same number of "
        "bits on the same number of threads.\n"
        "Wrong: `f16[16, 16] `spatial(8, 4)``. Right: `f16[16, 16] `spatial(8, 4).local(2, 4)``.",
    ),
    "DSL0415": (
        "an access that its memory does not allow",
        "A region has one axis for each axis of its memory, parameters of role `in` are only read, "
        "those of role `out` only written, and an on-chip memory is used after its alloc.\n"
        "Wrong: `store @x[0 : +16], %y` with `@x: in f16[M]`. Right: `@x: inout f16[M]`.",
    ),
    "DSL0416": (
        "a malformed instruction",
        "An attribute of an instruction is out of its range: an axis that the tile does not have, a "
        "step below 1, a permutation that names an axis twice, an unknown operation.\n"
        "Wrong: `reduce sum %x, axis=2` over f32[16, 8]. Right: `axis=0` or `axis=1`.",
    ),
    "DSL0417": (
        "values handed on with other types",
        "What a loop carries has one type at its start, inside, after an iteration and after the "
        "loop; both branches of an if give values of the result's type.\n"
        "Wrong: an accumulator that is f32 at first and yielded as f16. Right: cast before the yield.",
    ),
}
