"""The language server: what editors ask about `.tile` files and decorated functions (LSP 3.17).

`document` cuts a source into its top-level items, so that a keystroke costs one item. `names` says what
a name in it refers to, `checking` runs the checker over what changed and keeps what it learned, and the
other modules answer one kind of question each. `server` speaks the protocol.
"""
