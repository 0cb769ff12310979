"""The state of every generator of random numbers that a script may draw from."""

from __future__ import annotations

import pickle
import random
import sys
from array import array
from typing import Any

_TORCH_KEY = slice(24, 24 + 624 * 8)
"""Of PyTorch's state, which is bytes: its words take 64 bits each."""


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


def packed(state: Any) -> tuple[bytes, bytes]:
    """A Mersenne Twister's key, which changes once in 624 numbers of 32 bits, and the rest.

    The key of other generators is empty.
    """
    key, rest = b"", state
    if isinstance(state, tuple) and isinstance(state[0], int):
        version, words, normal = state  # Python's.
        key, rest = array("I", words[:-1]).tobytes(), (version, words[-1], normal)
    elif isinstance(state, tuple) and state[0] == "MT19937":
        key, rest = state[1].tobytes(), (state[0], *state[2:])
    elif type(state).__name__ == "Tensor" and len(state) > _TORCH_KEY.stop:
        data = state.numpy().tobytes()
        key, rest = data[_TORCH_KEY], (data[: _TORCH_KEY.start], data[_TORCH_KEY.stop :])
    return key, pickle.dumps(rest)


def unpacked(key: bytes, rest: bytes) -> Any:
    state = pickle.loads(rest)
    if not key:
        return state
    if isinstance(state[0], bytes):
        import torch

        return torch.frombuffer(bytearray(state[0] + key + state[1]), dtype=torch.uint8)
    words = array("I", key)
    if isinstance(state[0], int):
        version, position, normal = state
        return version, (*words, position), normal
    return state[0], words, *state[1:]
