"""Whether a script that started again went on from its checkpoint."""
