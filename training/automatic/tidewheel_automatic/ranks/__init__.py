"""What the ranks of one training agree on, and what PyTorch lets them send each other."""
