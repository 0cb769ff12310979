"""What a script tells the test. The process stands still there until the test has looked."""

import contextlib
import os
import signal
from pathlib import Path

FOLDER = Path(os.environ["FAMILY_FOLDER"])
LAST = 5  # Saves that a script makes in all.
# Python ignores it, and a test that limits the length of files would see an error and no kill.
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)


def saved(step):
    _tell("saved", step)


def resumed(step):
    """0 where there was nothing."""
    _tell("resumed", step)


def _tell(word, step):
    with contextlib.suppress(OSError):
        os.rmdir(f"/{word}/{int(step)}")
