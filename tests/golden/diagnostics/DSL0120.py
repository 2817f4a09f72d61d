# ruff: noqa
from dslc.frontend import parse_function

names = {}
exec("def typed(x: 'f32[N]'):\n    pass\n", names)
parse_function(names["typed"])
