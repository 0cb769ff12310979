"""What data decide within PyTorch, recorded for a replay: shapes, numbers and packed sequences."""
