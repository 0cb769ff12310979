"""The agent's four steps on one host: prepare, start, watch, conclude."""
