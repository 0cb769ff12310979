"""What of a training a checkpoint holds, where it is found, and how it is put back."""
