"""What the failure file holds."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from tidewheel_agent.failure_file import LogTail, failure_text, write_failure
from tidewheel_agent.log import redact


def tail_of(text: str) -> LogTail:
    tail = LogTail()
    for line in text.splitlines():
        tail.add(line)
    return tail


ROOT_CAUSE = """\
[rank1]: Traceback (most recent call last):
[rank1]:   File "train.py", line 9, in <module>
[rank1]:     main()
[rank1]: ValueError: batch_size=63 is not divisible by 2 ranks
"""
ECHO = """\
[rank0]: Traceback (most recent call last):
[rank0]:   File "train.py", line 20, in <module>
[rank0]: RuntimeError: [gloo] Connection closed by peer [127.0.0.3]:4711
"""
LAUNCHER = """\
Traceback (most recent call last):
  File "torch/distributed/run.py", line 1, in main
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
"""

REPORT = """\
E1126 06:09:40.387000 13415 torch/distributed/elastic/multiprocessing/api.py:1002] failed
Traceback (most recent call last):
  File "torch/distributed/launcher/api.py", line 386, in launch_agent
    raise ChildFailedError(
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\x20
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-11-26_06:09:40
  host      : algo-2
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 12469)  (SIGTERM)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 12469
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-26_06:09:40
  host      : algo-2
  rank      : 1 (local_rank: 1)
  exitcode  : {code} (pid: 12470)\x20
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
============================================================
"""


def test_the_text_names_the_cause_and_no_echo() -> None:
    for log in (ECHO + ROOT_CAUSE + LAUNCHER, ROOT_CAUSE + ECHO + LAUNCHER):
        text = failure_text("train.py ended with exit code 1 on algo-2", tail_of(log))
        assert text.startswith(
            "train.py ended with exit code 1 on algo-2: "
            "ValueError: batch_size=63 is not divisible by 2 ranks\n"
        )


CHAINED = """\
Traceback (most recent call last):
  File "socket.py", line 1, in getaddrinfo
socket.gaierror: [Errno -2] Name or service not known

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "urllib/request.py", line 2, in do_open
urllib.error.URLError: <urlopen error [Errno -2] Name or service not known>

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "keras/utils/file_utils.py", line 3, in get_file
Exception: URL fetch failure on https://example.com/mnist.npz: None -- Name or service not known
"""


def test_of_chained_exceptions_the_last_is_the_cause() -> None:
    for log in (CHAINED, CHAINED + ECHO, ECHO + CHAINED):
        text = failure_text("train.py ended with exit code 1 on algo-1", tail_of(log))
        assert text.startswith(
            "train.py ended with exit code 1 on algo-1: Exception: URL fetch failure on "
        )
    ranks = "".join(f"[rank{rank}]: {line}\n" for rank in (0, 1) for line in CHAINED.splitlines())
    assert "URL fetch failure" in failure_text("x", tail_of(ranks)).splitlines()[0]


def test_a_cause_that_fills_the_room_is_not_followed_by_its_traceback() -> None:
    tail = tail_of("Traceback (most recent call last):\n  File 'a.py'\nValueError: " + "x" * 1_200)
    assert "Traceback" not in failure_text("x", tail)


def test_an_echo_is_no_cause() -> None:
    assert not tail_of(ECHO + LAUNCHER).names_cause()
    assert not tail_of("Killed").names_cause()
    assert tail_of(ROOT_CAUSE + ECHO).names_cause()


def test_a_rank_that_exits_without_an_exception_is_the_cause() -> None:
    words = "usage: train.py [-h]\ntrain.py: error: unrecognized arguments: --foo\n"
    for log in (words, words + ECHO):
        tail = tail_of(log + REPORT.format(code=2))
        assert tail.names_cause()
        assert failure_text("train.py ended with exit code 1 on algo-2", tail) == (
            "train.py ended with exit code 1 on algo-2: rank 1 ended with exit code 2\n" + words
        )


def test_the_launchers_own_lines_are_known_by_any_path() -> None:
    report = REPORT.format(code=2).replace(" torch/dist", " /opt/lib/site-packages/torch/dist")
    assert tail_of("no data\n" + report).last_words() == ["no data"]


def test_a_rank_that_was_killed_is_named_with_the_reason() -> None:
    text = failure_text("x", tail_of("step 7\n" + REPORT.format(code=-9)))
    assert text.startswith("x: rank 1 ended with exit code 137 (killed by SIGKILL: most often the")


def test_a_rank_that_ended_for_another_is_no_cause() -> None:
    own_echo = ECHO.replace("rank0", "rank1")
    unnamed = ECHO.replace("[rank0]: ", "")
    for echo in (own_echo, unnamed):
        assert not tail_of(echo + REPORT.format(code=1)).names_cause()
    # NCCL's threads abort a rank that has lost another one.
    assert not tail_of(REPORT.format(code=-6)).names_cause()
    assert tail_of(ROOT_CAUSE + REPORT.format(code=1)).silent_end() is None


def test_1024_characters_hold_summary_and_cause() -> None:
    frames = "".join(f'  File "deep.py", line {n}, in f\n    f()\n' for n in range(200))
    log = f"Traceback (most recent call last):\n{frames}RecursionError: too deep\n"
    text = failure_text("train.py ended with exit code 1 on algo-1", tail_of(log))
    assert text.startswith("train.py ended with exit code 1 on algo-1: RecursionError: too deep\n")
    assert len(text) <= 1024
    assert text.rstrip().endswith("RecursionError: too deep")


def test_without_traceback_the_last_lines_are_shown() -> None:
    text = failure_text("x.py ended with exit code 3 on algo-1", tail_of("one\n\ntwo"))
    assert text == "x.py ended with exit code 3 on algo-1\none\ntwo\n"


def test_the_scripts_own_failure_file_stays(tmp_path: Path) -> None:
    (tmp_path / "failure").write_text("mine")
    write_failure(tmp_path, "ours")
    assert (tmp_path / "failure").read_text() == "mine"


def test_credentials_in_urls_are_hidden() -> None:
    assert redact("get https://user:pass@host/x and http://tok@h") == (
        "get https://***@host/x and http://***@h"
    )


def test_a_checkpoint_that_pytorch_refuses_gets_the_line_that_helps(tmp_path: Path) -> None:
    torch.save({"arguments": SimpleNamespace(lr=1)}, tmp_path / "last.pt")
    with pytest.raises(pickle.UnpicklingError) as refusal:
        torch.load(tmp_path / "last.pt", weights_only=True)
    lines = [f"_pickle.UnpicklingError: \x1b[1m{refusal.value}"]
    text = failure_text(
        "train.py ended", tail_of("\n".join(["Traceback (most recent call last):", *lines]))
    )
    assert 'TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD: "1"' in text.splitlines()[0]
    assert "\x1b" not in text
    assert len(text) <= 1025
