"""One EC2 host of a job: makes it look like a training container and runs the agent in it."""
