"""The agent: runs in front of the user's script on every host and keeps the Spot contract."""
