"""The last whole generation of files that a script overwrites in place."""
