"""Python imports this by itself when its folder is on PYTHONPATH: the date is the virtual one in
every Python program of a host. Sleeping and measuring go on in real time."""

from __future__ import annotations

import os
import time

if os.environ.get("TIDEWHEEL_CLOCK_FILE"):
    import tidewheel_clock

    time.time = tidewheel_clock.now
    # For the program of a host on EC2, which renews its report: not for those that it starts.
    if waiter := os.environ.pop("TIDEWHEEL_CLOCK_WAITER", ""):
        tidewheel_clock.end_long_waits_by_the_clock(waiter)
