"""Machines as data."""
