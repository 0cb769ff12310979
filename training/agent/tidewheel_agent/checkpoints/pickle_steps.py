"""Reads a step counter out of a pickle without running it.

A pickle is a program, and loading one from a checkpoint would run it. Listing its opcodes is safe:
`"step": 120` shows as a string followed by an integer.
"""

from __future__ import annotations

import pickletools

STEP_NAMES = ("global_step", "step", "iteration", "epoch")
"""Under these names scripts save their position; the first that is found counts."""
_STORES = ("BINPUT", "LONG_BINPUT", "MEMOIZE", "PUT")
_FETCHES = ("BINGET", "LONG_BINGET", "GET")
_INTEGERS = ("BININT", "BININT1", "BININT2", "LONG1", "INT", "LONG")
_MOST_OPCODES = 2_000_000


def steps_in_pickle(content: bytes) -> dict[str, int]:
    """The first integer behind each well-known name."""
    found: dict[str, int] = {}
    memo: dict[int, str] = {}
    memoized = 0
    name = ""
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(content)):
            if opcode.name in _STORES:
                # An equal string is pickled once and fetched from the memo afterwards.
                memo[argument if isinstance(argument, int) else memoized] = name
                memoized += 1
                continue
            if name and opcode.name in _INTEGERS and isinstance(argument, int) and argument >= 0:
                found.setdefault(name, argument)
            if opcode.name in _FETCHES and isinstance(argument, int):
                name = memo.get(argument, "")
            else:
                name = argument if isinstance(argument, str) and argument in STEP_NAMES else ""
            if count > _MOST_OPCODES:
                break
    except (ValueError, IndexError):
        # The bytes are no pickle, or cut off: the integers found so far still count.
        pass
    return found
