"""The content of a checkpoint: named arrays that belong to no framework.

Another number of hosts, or another partition of the embeddings, can load them.
"""

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[np.float32]]


def arrays_to_bytes(arrays: Mapping[str, npt.NDArray[np.float32]]) -> bytes:
    """The same arrays give the same bytes."""
    buffer = io.BytesIO()
    named: dict[str, Any] = dict(sorted(arrays.items()))
    np.savez(buffer, **named)
    return buffer.getvalue()


def arrays_from_bytes(content: bytes) -> Arrays:
    """Loads plain arrays only, so a checkpoint cannot run code."""
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}
