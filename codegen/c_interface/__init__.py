"""C interfaces of packages: a header, and C99 that checks arguments, chooses code and launches it."""
