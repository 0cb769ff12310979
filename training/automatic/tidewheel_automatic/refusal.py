"""Why a script cannot be restored, in words for the log, the agent and the timeline."""

from __future__ import annotations

from .journal import RefusedError
from .sandbox import ProtectedFileError

_FAKE = (
    "FakeTensor",
    "fake_tensor",
    "device type 'meta'",
    "meta tensor",
    "tensor subclasses",
)
_LOST_PEERS = (
    "connection closed by peer",
    "connection reset by peer",
    "broken pipe",
    "socket timeout",
    "DistBackendError",
    "DistNetworkError",
    "DistStoreError",
)
"""What the other ranks report when one has ended."""


def reason_of(error: BaseException) -> str:
    if isinstance(error, (RefusedError, ProtectedFileError)):
        return str(error)
    text = f"{type(error).__name__}: {error}"
    return f"it used a tensor that was not restored ({text})" if meets_fake_tensor(error) else text


def meets_fake_tensor(error: BaseException) -> bool:
    """PyTorch has no class for a tensor without data that meets real ones."""
    text = f"{type(error).__module__} {error}"
    return any(sign in text for sign in _FAKE)


def is_of_host(error: BaseException) -> bool:
    """It tells nothing of the script: memory was short, another rank has ended, or the trial
    forbids what it writes."""
    if isinstance(error, (MemoryError, ProtectedFileError)):
        return True
    text = f"{type(error).__name__} {error}".lower()
    return any(sign.lower() in text for sign in ("out of memory", *_LOST_PEERS))
