"""What the doctor reads: points of ten seconds and the phases of the start, for each host."""
