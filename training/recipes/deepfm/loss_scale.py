"""The loss is scaled up under float16, which would lose small gradients. It needs no framework."""

import numpy as np

from arrays import Arrays

_NAME = "scale/loss"
_FIRST = 65_536.0
_GROW_STEPS = 2_000


class LossScale:
    """Halved after an overflow, whose step is left out, and doubled after 2,000 steps without one:
    as PyTorch's GradScaler and Keras' LossScaleOptimizer do. `learned`: a checkpoint's arrays."""

    def __init__(self, kind: str, learned: Arrays) -> None:
        self.is_on = kind == "float16"
        saved = learned.get(_NAME)
        first = (_FIRST if self.is_on else 1.0, 0.0)
        # Another GPU may have computed in other bits: then scaling starts again.
        self.state: tuple[float, ...] = first
        if self.is_on and saved is not None:
            self.state = tuple(map(float, saved))

    @property
    def factor(self) -> float:
        return self.state[0]

    def update(self, *, overflowed: bool) -> None:
        factor, steps = self.state
        if not self.is_on:
            return
        if overflowed:
            self.state = (factor / 2, 0.0)
        else:
            grows = steps + 1 == _GROW_STEPS
            self.state = (factor * 2, 0.0) if grows else (factor, steps + 1)

    def arrays(self) -> Arrays:
        return {_NAME: np.array(self.state, np.float32)} if self.is_on else {}


def without_scale(learned: Arrays) -> Arrays:
    """What the model has learned."""
    return {name: value for name, value in learned.items() if name != _NAME}
