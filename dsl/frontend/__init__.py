"""The two front-ends: `.tile` text and decorated Python, both giving one syntax tree."""
