[(kernel) (program) (function) (for) (while) (if) (docstring)] @fold
