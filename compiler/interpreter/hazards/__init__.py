"""What watches a run.

Rraces, missing barriers, undefined registers, unwritten elements, copies under way.
"""
