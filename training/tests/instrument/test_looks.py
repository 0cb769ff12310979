"""What a look at the training thread tells: the host's work that no hook counts, and its line."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from tidewheel_instrument.places import Places, host_work

Look = Callable[[str, str], "str | None"]


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """Runs `source` of a file in a thread until it blocks, and looks at it."""

    def once(path: str, source: str) -> str | None:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
        code = compile(source, str(file), "exec")

        def run() -> None:
            # It blocks for longer than the look takes, and then is of no interest.
            with contextlib.suppress(Exception):
                exec(code, {"__name__": "__main__"})

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        frame = _blocked(thread, str(file))
        return host_work(frame, Places())

    return once


def _blocked(thread: threading.Thread, file: str) -> FrameType | None:
    """The frame of a thread, once code of the file is on its stack and two looks are equal."""
    assert thread.ident is not None
    before: tuple[int, int] | None = None
    for _ in range(200):
        frame = sys._current_frames().get(thread.ident)
        own = frame
        while own is not None and own.f_code.co_filename != file:
            own = own.f_back
        now = (id(frame), frame.f_lasti) if frame is not None and own is not None else None
        if now is not None and now == before:
            return frame
        before = now
        time.sleep(0.01)
    raise AssertionError("the thread never blocked")


def test_a_wait_of_a_coordinator_is_no_host_work(look: Look) -> None:
    waiting = "import threading; threading.Event().wait(5)"
    coordinator = "site-packages/tensorflow/python/distribute/coordinator/cluster_coordinator.py"
    assert look(coordinator, waiting) is None
    assert look("train.py", waiting) is not None


def test_a_wait_for_a_queue_is_host_work(look: Look) -> None:
    source = "import queue\ndef load():\n    return queue.Queue().get(timeout=5)\nload()\n"
    assert look("train.py", source) == "train.py:3 load"


def test_a_call_into_c_is_known_by_its_source(look: Look) -> None:
    source = "import time\ndef load():\n    time.sleep(5)\nload()\n"
    assert look("train.py", source) == "train.py:3 load"


def test_a_call_that_is_not_known_counts_as_computing(look: Look) -> None:
    source = "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire(timeout=5)\n"
    assert look("train.py", source) is None


def test_a_package_that_is_not_known_counts_as_computing(look: Look) -> None:
    source = "import time\ntime.sleep(5)\n"
    assert look("site-packages/engine/loop.py", source) is None


def test_a_copy_from_an_accelerator_counts_as_computing(look: Look) -> None:
    source = (
        "import time\nclass Loss:\n    def item(self): time.sleep(5)\n"
        "np = type('np', (), {'array': staticmethod(time.sleep)})\n"
        "np.array((5, Loss().item)[0])  # as np.array(loss.item())\n"
    )
    assert look("train.py", source) is None


def test_a_call_of_a_framework_is_no_line_that_can_move(look: Look, tmp_path: Path) -> None:
    framework = tmp_path / "site-packages" / "framework_of_a_test"
    framework.mkdir(parents=True)
    (framework / "__init__.py").write_text(
        "import queue\ndef train():\n    queue.Queue().get(timeout=5)\n"
    )
    path = f"import sys; sys.path.insert(0, {str(framework.parent)!r})\n"
    source = f"{path}import framework_of_a_test\nframework_of_a_test.train()\n"
    assert look("train.py", source) == ""
