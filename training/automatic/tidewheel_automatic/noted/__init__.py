"""What data decide within PyTorch, noted for a replay: shapes, numbers and packed sequences."""
