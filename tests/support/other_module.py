"""Functions of another module: their names are not those of the module that calls them."""

SCALE = 7


def scaled(x, by=SCALE):
    return x * by + SCALE


def helper(x):
    return scaled(x)
