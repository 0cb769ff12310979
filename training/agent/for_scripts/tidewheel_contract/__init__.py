"""What agent and service write for each other. Agent, hosts, hooks and scripts import it."""
