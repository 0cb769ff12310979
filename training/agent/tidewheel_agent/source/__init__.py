"""The user's code: unpacked, and its requirements installed."""
