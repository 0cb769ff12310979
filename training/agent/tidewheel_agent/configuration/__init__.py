"""What the agent is told of the job and finds out of the host, and what the script is told."""
