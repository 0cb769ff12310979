"""How busy this host is."""
