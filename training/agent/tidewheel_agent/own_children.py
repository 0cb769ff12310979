"""Processes that the agent itself has started. They are no part of the script."""

from __future__ import annotations

OWN_CHILDREN: set[int] = set()
"""Children of this process that belong to no script."""
