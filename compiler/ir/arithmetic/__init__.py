"""Arithmetic on scalar expressions: folding, and index expressions as linear forms."""
