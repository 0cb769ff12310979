"""Failures of the platform before or beside the script: the run goes on elsewhere.

The service reads these words: functions/core/launch/job/platform-fault.ts.
"""

from __future__ import annotations

import errno
from typing import Literal

Fault = Literal["storage", "disk", "packages"]


class PlatformFailureError(Exception):
    """The job cannot start here, and may elsewhere or later."""

    def __init__(self, fault: Fault, text: str) -> None:
        super().__init__(platform_failure(fault, text))


def platform_failure(fault: Fault, text: str) -> str:
    return f"Platform failure ({fault}): {text}"


def is_disk_full(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
