"""What a process counts, in a small file that it shares with the agent.

A count is one store of eight bytes into mapped memory, which no reader sees half done. The agent's
evidence/cells.py reads the same layout: the hooks run in the script, without the agent.
"""

from __future__ import annotations

import mmap
import os
import struct

KIND = 0
"""TRAINER or WORKER."""
WAIT, SAVE, EXCHANGE = 1, 2, 3
"""Seconds of the training thread, each second in one of them at most."""
FETCH = 4
"""Seconds in which a loader worker made batches."""
CPU = 5
"""CPU seconds of a loader worker."""
DOING, SINCE = 6, 7
"""What goes on now: WAIT, SAVE, EXCHANGE, FETCH, RESTART (while processes begin) or 0; and since
when, except for RESTART."""
STEPS, SAMPLES = 8, 9
KNOWS_SAMPLES = 10
WORKERS, BATCH_SIZE = 11, 12
"""Of the loader whose batches the steps take; 0: unknown."""
RANK = 13
ASKED_FIRST_BATCH, GOT_FIRST_BATCH, FIRST_STEP = 14, 15, 16
"""Seconds of the system's monotonic clock, as all moments here."""
DECODE_CPU = 17
"""Of CPU, what decoders of images took; 0.0 where none is known."""
LOOKS, HOST_WORK = 18, 19
"""How often a thread looked at the training thread, and how often it found the host's work there
that no hook counts: reading, decoding, waiting."""
FLOAT32_WORK, TF32_WORK, BITS16_WORK = 20, 21, 22
"""Floating-point operations of one step, by the arithmetic of their results; 0.0 before a look."""
INPUT_WAIT = 23
"""Seconds that compiled steps waited for their batches, as tf.data tells them; beside WAIT."""
THREADS = 24
"""With how many threads the process computes, as its first step found it; 0.0: unknown."""
PIN_CPU = 25
"""CPU seconds of the thread that pins batches, in the training process."""
RESTART, RESTARTS = 26, 27
"""Seconds from the start of a loader's processes to their first batch, and how often; the first
start of all is left out."""
WAIT_BEFORE_STEP = 28
"""The part of WAIT before the first step, in seconds."""
DREW = 29
"""1.0 in a loader worker whose first batches draw random numbers."""
RING = 32
"""From here on the ends of the last steps."""
RING_LENGTH = 4096

TRAINER, WORKER = 1.0, 2.0


class Cells:
    """`values[WAIT]` and so on. Raises OSError where the folder is full or gone."""

    def __init__(self, folder: str, kind: float) -> None:
        length = RING + RING_LENGTH if kind == TRAINER else RING
        path = os.path.join(folder, f"{os.getpid()}.cells")
        # A process of the same number has ended: its file is the agent's to count, or of no use.
        with open(path, "w+b") as file:
            file.truncate(8 * length)
            self._map = mmap.mmap(file.fileno(), 8 * length)
        self.values = memoryview(self._map).cast("d")
        self.values[KIND] = kind


def read_cell(folder: str, pid: int, place: int) -> float:
    """Read a count of another process; 0.0 where that one counts nothing yet."""
    try:
        with open(os.path.join(folder, f"{pid}.cells"), "rb") as file:
            file.seek(8 * place)
            return float(struct.unpack("d", file.read(8))[0])
    except (OSError, struct.error):
        return 0.0
