"""From where a script went on, judged by what it prints and saves. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ..checkpoints.checkpoint import Checkpoint
from .earlier_positions import Earlier

Kind = Literal["resumed", "beganAgain"]
_HALF = 0.5
_SLACK = 1.2
_ENOUGH_POINTS = 3


@dataclass(frozen=True)
class Verdict:
    kind: Kind
    evidence: Literal["log", "checkpoint"]
    position: float
    """The first position that the script printed or saved."""
    unit: str
    began_at: float = 0.0
    """In the unit of the checkpoint that was there; 0 is the beginning."""


def by_position(
    position: float, unit: str, earlier: Mapping[str, Earlier], resumed: Checkpoint | None
) -> Verdict | None:
    """From the first position in the log; None where it does not tell.

    A script that begins again prints what the run's first start printed first.
    """
    known = earlier.get(unit)
    expected = _expected(known, unit, resumed) if known is not None else None
    if known is None or expected is None or expected <= known.first:
        return None
    share = (position - known.first) / (expected - known.first)
    step = float(resumed.step) if resumed is not None else expected
    if position <= known.first:
        return Verdict("beganAgain", "log", position, unit, 0.0)
    if resumed is None or share >= _HALF:
        return Verdict("resumed", "log", position, unit, min(1.0, share) * step)
    return Verdict("beganAgain", "log", position, unit, round(share * step))


def _expected(known: Earlier, unit: str, resumed: Checkpoint | None) -> float | None:
    """None where the printed steps count something else than the checkpoint's, such as the batches
    of an epoch."""
    if resumed is None or unit != "step" or resumed.unit != "step":
        return known.expected
    if known.expected > _SLACK * resumed.step:
        return None
    if known.expected < _HALF * resumed.step and known.count >= _ENOUGH_POINTS:
        return None
    return max(known.expected, resumed.step)


def by_checkpoint(
    saved: Checkpoint, resumed: Checkpoint, *, seconds: float, steps_per_second: float | None
) -> Verdict | None:
    """From the first checkpoint of this start, `seconds` after it; None where it does not tell.

    `steps_per_second`: the pace of earlier starts.
    """
    if "saves" in (saved.unit, resumed.unit) or saved.unit != resumed.unit or resumed.step <= 0:
        return None
    done = (steps_per_second or 0.0) * seconds
    if saved.step > resumed.step:
        # So much may also have been done since the beginning.
        if done >= saved.step - _HALF * resumed.step:
            return None
        return Verdict("resumed", "checkpoint", saved.step, saved.unit, resumed.step)
    if saved.step == resumed.step and done < _HALF * saved.step:
        # Some scripts save what they have just read.
        return None
    return Verdict("beganAgain", "checkpoint", saved.step, saved.unit, 0.0)
