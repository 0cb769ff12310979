"""Which checkpoint is complete, how long a save takes, and the progress note."""
