# ruff: noqa
from dslc.frontend import parse_function


class Model:
    def norm(self, x: "f32[N]"):
        pass


parse_function(Model.norm)
