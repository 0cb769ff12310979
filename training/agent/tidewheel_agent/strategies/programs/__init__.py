"""Programs of the agent that run beside or in front of the script, as processes of their own."""
