"""The state of every generator of random numbers that a script may draw from."""

from __future__ import annotations

import random
import sys
from typing import Any


def capture() -> dict[str, Any]:
    """Python's, NumPy's where it is imported, and PyTorch's on the CPU and on every GPU in use."""
    import torch

    state: dict[str, Any] = {"python": random.getstate(), "torch": torch.get_rng_state()}
    if "numpy" in sys.modules:
        state["numpy"] = sys.modules["numpy"].random.get_state()
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        state["cuda"] = torch.cuda.get_rng_state_all()
    return state


def restore(state: dict[str, Any]) -> None:
    import torch

    random.setstate(state["python"])
    torch.set_rng_state(state["torch"])
    if "numpy" in state and "numpy" in sys.modules:
        sys.modules["numpy"].random.set_state(state["numpy"])
    if "cuda" in state:
        torch.cuda.set_rng_state_all(state["cuda"])


def is_generator(value: object) -> bool:
    """A generator object of its own, as scripts and samplers hold them."""
    if isinstance(value, random.Random):
        return not isinstance(value, random.SystemRandom)
    kind = type(value)
    if kind.__module__ == "torch._C" or kind.__module__ == "torch":
        return kind.__name__ == "Generator"
    return kind.__module__.startswith("numpy.random") and kind.__name__ in (
        "Generator",
        "RandomState",
    )


def generator_state(generator: Any) -> Any:
    if isinstance(generator, random.Random):
        return generator.getstate()
    if type(generator).__module__.startswith("torch"):
        return generator.get_state()
    if type(generator).__name__ == "RandomState":
        return generator.get_state()
    return generator.bit_generator.state


def set_generator_state(generator: Any, state: Any) -> None:
    if isinstance(generator, random.Random):
        generator.setstate(state)
    elif (
        type(generator).__module__.startswith("torch") or type(generator).__name__ == "RandomState"
    ):
        generator.set_state(state)
    else:
        generator.bit_generator.state = state
