"""Loads, stores, copies and atomics: addresses, vectors and predicates."""
