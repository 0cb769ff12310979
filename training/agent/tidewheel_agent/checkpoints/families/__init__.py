"""Sets of files that are one checkpoint together: one module for each family of frameworks."""
