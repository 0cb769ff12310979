"""What each strategy starts on a host."""
