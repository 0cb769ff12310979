"""The recipe `train.py`, but training waits for each save until it is on disk.

Otherwise `tidewheel.save` drops a state that waits while another is written, as it promises. A
machine with much else to do would leave gaps among the steps that the campaign compares.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import tidewheel

_save = tidewheel.save


def _save_at_once(*arguments: object, **named: object) -> None:
    _save(*arguments, **named)
    tidewheel.flush()


tidewheel.save = _save_at_once
runpy.run_path(str(Path(__file__).with_name("train.py")), run_name="__main__")
