"""Automatic checkpoints as the agent sees them: their trial, their offer, the service's note."""
