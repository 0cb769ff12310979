"""What the agent does and costs on a GPU; measure_gpu.py prints it."""
