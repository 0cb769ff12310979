"""Failures of the platform before or beside the script: the run goes on elsewhere."""

import errno
import shutil

from tidewheel_contract.documents import PLATFORM_FAILURE, Fault

_DISK_FULL_WORDS = ("[Errno 28]", "[Errno 122]", "No space left on device")


class PlatformFailureError(Exception):
    """The job cannot start here, and may elsewhere or later."""

    def __init__(self, fault: Fault, text: str) -> None:
        super().__init__(platform_failure(fault, text))


def platform_failure(fault: Fault, text: str) -> str:
    return PLATFORM_FAILURE.format(fault=fault) + text


def is_disk_full(error: BaseException) -> bool:
    if isinstance(error, shutil.Error):  # It names many files, and their errors only in words.
        return speaks_of_full_disk(str(error))
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def speaks_of_full_disk(text: str) -> bool:
    """Whether an error's text is that of ENOSPC or EDQUOT."""
    return any(words in text for words in _DISK_FULL_WORDS)
