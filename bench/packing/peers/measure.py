"""Runs a command and prints what it and its children took, as JSON on the last line."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

started = time.monotonic()
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
seconds = time.monotonic() - started
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(
    json.dumps(
        {
            "code": done.returncode,
            "seconds": seconds,
            "cpuSeconds": used.ru_utime + used.ru_stime,
            "peakBytes": used.ru_maxrss * 1024,
            "errors": done.stderr.decode(errors="replace")[-2000:],
        }
    )
)
