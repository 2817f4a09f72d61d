"""The custom forms of MLIR's own dialects that cores and sequences use (LLVM 22)."""

from __future__ import annotations

_BINARY = (
    "addf subf mulf divf remf maximumf minimumf maxnumf minnumf addi subi muli divsi divui ceildivsi "
    "ceildivui floordivsi remsi remui andi ori xori shli shrsi shrui maxsi maxui minsi minui negf"
)
_CASTS = (
    "extf truncf extsi extui trunci sitofp uitofp fptosi fptoui index_cast index_castui bitcast "
    "scaling_extf scaling_truncf"
)
_MATH = (
    "absf absi atan atan2 cbrt ceil cos copysign ctlz cttz ctpop erf exp exp2 expm1 floor fma ipowi "
    "log log10 log1p log2 powf round roundeven rsqrt sin sinh sqrt tan tanh trunc cosh"
)
_ELEMENTWISE = "operands flags attrs : type:0 => t0"
_CAST = "operand flags attrs : type:0 to type => t1"

UPSTREAM = {
    **{f"arith.{name}": _ELEMENTWISE for name in _BINARY.split()},
    **{f"math.{name}": _ELEMENTWISE for name in _MATH.split()},
    **{f"arith.{name}": _CAST for name in _CASTS.split()},
    "arith.cmpf": "word:predicate , operands flags attrs : type:0 => bool",
    "arith.cmpi": "word:predicate , operands attrs : type:0 => bool",
    "arith.select": "operands attrs : types => t-1",
    "affine.yield": "operands attrs [? : types ]?",
    "cf.br": "succ attrs",
    "cf.cond_br": "operand , succ , succ attrs",
    "func.return": "operands attrs [? : types ]?",
    "memref.alloc": "( operands ) attrs : type => t0",
    "memref.alloca": "( operands ) attrs : type => t0",
    "memref.assume_alignment": "operand , count:alignment attrs : type => t0",
    "memref.cast": "operand attrs : type to type => t1",
    "memref.collapse_shape": "operand list:reassociation attrs : type into type => t1",
    "memref.copy": "operand , operand attrs : type to type",
    "memref.dealloc": "operand attrs : type",
    "memref.expand_shape": "operand list:reassociation [? output_shape entries:output_shape ]? attrs : "
    "type into type => t1",
    "memref.get_global": "symbol:name attrs : type => t0",
    "memref.load": "operand entries:_ attrs : type:0 => element",
    "memref.reinterpret_cast": "operand to offset : entries:offsets , sizes : entries:sizes , "
    "strides : entries:strides attrs : type to type => t1",
    "memref.store": "operand , operand entries:_ attrs : type:1",
    "memref.subview": "operand entries:offsets entries:sizes entries:strides attrs : type:0 to type "
    "=> t1",
    "memref.view": "operand [ operand ] [ operands ] attrs : type:0 to type => t1",
    "return": "operands attrs [? : types ]?",
    "scf.condition": "( operand ) operands attrs [? : types ]?",
    "scf.yield": "operands attrs [? : types ]?",
    "vector.bitcast": "operand attrs : type:0 to type => t1",
    "vector.broadcast": "operand attrs : type:0 to type => t1",
    "vector.contract": "attrs operands attrs : types into type => t-1",
    "vector.extract": "operand entries:position attrs : type from type => t0",
    "vector.extract_strided_slice": "operand attrs : type:0 to type => t1",
    "vector.fma": "operands attrs : type => t0",
    "vector.insert": "operand , operand entries:position attrs : type into type => t1",
    "vector.insert_strided_slice": "operand , operand attrs : type into type => t1",
    "vector.load": "operand entries:_ attrs : type:0 , type => t-1",
    "vector.reduction": "< word:kind > , operands flags attrs : type:0 into type => t1",
    "vector.shape_cast": "operand attrs : type:0 to type => t1",
    "vector.splat": "operand attrs : type => t0",
    "vector.store": "operand , operand entries:_ attrs : type:1 , type:0",
    "vector.transfer_read": "operand entries:_ , operand attrs : types => t-1",
    "vector.transfer_write": "operand , operand entries:_ attrs : types",
    "vector.transpose": "operand , list:permutation attrs : type:0 to type => t1",
}
