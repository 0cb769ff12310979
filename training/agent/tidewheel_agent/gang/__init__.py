"""The connection between the agents of one job."""
