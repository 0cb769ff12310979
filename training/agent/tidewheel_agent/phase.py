"""Tells an EC2 host when the script begins. On SageMaker no host asks."""

import os
from contextlib import suppress
from pathlib import Path

PHASE_FILE = "TIDEWHEEL_PHASE_FILE"
"""Names the file that says so by its presence."""


def script_begins() -> None:
    path = os.environ.get(PHASE_FILE)
    if path:
        with suppress(OSError):
            Path(path).touch()
