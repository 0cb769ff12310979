"""The facts that the agent has of the job and the host, and the variables of the script."""
