"""Checkpoints for PyTorch scripts that save none; docs/decisions/0016-replay-a-script.md."""
