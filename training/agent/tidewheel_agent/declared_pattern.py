"""Regular expressions that a pipeline declares, searched in a process of their own.

A search in Python's `re` may take years, stops every thread of its process meanwhile, and cannot
be interrupted. Here the kernel ends the process whose searches take too long.
"""

import contextlib
import json
import re
import signal
import subprocess
import sys
import threading
import time
from functools import lru_cache

from .agent_path import ignore_signals, start_own
from .log import log

MOST_SECONDS = 0.5
"""Of processor time for one search: the script's other lines wait for it."""
_MOST_SHARE = 0.5
"""Of the time, for many slow searches one after the other."""


class DeclaredPattern:
    """`re.Pattern`, except that `search` gives up for good once it takes too long."""

    def __init__(self, field: str, text: str, most_seconds: float = MOST_SECONDS) -> None:
        self._field = field
        self._most_seconds = most_seconds
        self._lock = threading.Lock()
        self._process = start_own("--search", text, str(most_seconds), stdout=subprocess.PIPE)
        # Several readers ask for the same line, and every look at the disk for the same names.
        self.search = lru_cache(maxsize=1024)(self._search)

    def _search(self, text: str) -> dict[str, str | None]:
        """The named groups of the first match, or its first group as ``""``. Empty where nothing
        matches, and after a search that took too long."""
        asked, answered = self._process.stdin, self._process.stdout
        assert asked is not None and answered is not None
        with self._lock:
            if self._process.poll() is not None:
                return {}
            with contextlib.suppress(OSError):
                asked.write(json.dumps(text).encode() + b"\n")
                asked.flush()
            if answer := answered.readline():
                found: dict[str, str | None] = json.loads(answer)
                return found
        is_slow = self._process.wait() == -signal.SIGVTALRM
        why = f"a search took over {self._most_seconds:g} s" if is_slow else "its process has ended"
        log(f"{self._field} finds nothing more: {why}; fewer repeats may help")
        return {}


def answer_searches(text: str, most_seconds: float) -> int:
    """Runs in the process of its own: a line with a text in, a line with its groups out."""
    ignore_signals()
    pattern = re.compile(text)
    credit, earlier = most_seconds, time.monotonic()
    for line in sys.stdin:
        now = time.monotonic()
        credit, earlier = min(most_seconds, credit + _MOST_SHARE * (now - earlier)), now
        # SIGVTALRM ends a process that does not handle it, in the middle of a search, too.
        signal.setitimer(signal.ITIMER_VIRTUAL, credit)
        match = pattern.search(json.loads(line))
        credit = signal.setitimer(signal.ITIMER_VIRTUAL, 0)[0]
        first = {"": match[min(1, pattern.groups)]} if match else {}
        print(json.dumps((match and match.groupdict()) or first), flush=True)
    return 0
