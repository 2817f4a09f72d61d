"""The compiler: Tile IR, dtypes, layouts, passes, the interpreter and targets as data.

Nothing in here imports the front-ends, the code generators or the runtime.
"""
