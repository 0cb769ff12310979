"""A checkpoint holds the training of one process: the first of a script's start that begins one.

A script may train in processes of its own, at once on shared weights or one after the other. They
would write to one folder, and each could resume from what another has saved.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .options import Options

REASON = (
    "a second process of the script trains, and a checkpoint holds one: "
    "start its processes by the strategy ddp, or let it save by itself"
)


def is_taken(options: Options) -> bool:
    """Whether another process of this start has begun to train."""
    claim = _claim_of(options)
    return claim is not None and claim.exists()


def claim_training(options: Options) -> bool:
    """False if another process of this start was the first."""
    claim = _claim_of(options)
    if claim is None:
        return True
    try:
        os.close(os.open(claim, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return False
    except OSError:
        return True
    return True


def _claim_of(options: Options) -> Path | None:
    """The agent gives each start of the script a token. None for several ranks: they are meant to
    train at once, and each saves a file of its own."""
    token = os.environ.get("TIDEWHEEL_SCRIPT_TOKEN")
    if not token or options.ranks > 1:
        return None
    kind = "trial" if options.scratch else "training"
    return Path(tempfile.gettempdir()) / f"tidewheel-{kind}-{token}"
