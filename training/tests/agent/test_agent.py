"""The whole agent with real scripts and real signals, without a framework."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_runs import SAVE, run
from cluster import Cluster, running, wait_until
from hosts import processes_below
from sagemaker_host import make_host
from tidewheel_agent.platform_failure import is_disk_full
from tidewheel_contract.documents import DISK_FULL_EXIT_CODE

HostOf = Callable[..., Path]

READY = "print('ready', flush=True)"
SAVES_ON_SIGTERM = f"""
import signal, sys, time
{SAVE}
def leave(number, frame):
    save(7)
    sys.exit(0)
signal.signal(signal.SIGTERM, leave)
{READY}
time.sleep(60)
"""


@pytest.fixture
def host_of(tmp_path: Path) -> HostOf:
    def make(script: str, *, checkpoints: bool = True, **hyperparameters: Any) -> Path:  # noqa: ANN401
        return make_host(
            tmp_path / "ml", script=script, hyperparameters=hyperparameters, checkpoints=checkpoints
        )

    return make


def await_line(cluster: Cluster, text: str) -> None:
    wait_until(lambda: text in cluster.log(), 15, f"{text!r} in the log")


def failure_of(base: Path) -> str:
    path = base / "output" / "failure"
    return path.read_text() if path.exists() else ""


def test_the_scripts_exit_code_and_reason_are_kept(host_of: HostOf) -> None:
    base = host_of(
        "import sys\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    import traceback\n"
        "    traceback.print_exc()\n    sys.exit(42)"
    )
    code, _ = run(base)
    assert code == 42
    assert failure_of(base).startswith(
        "train.py ended with exit code 42 on 127.0.0.1: ZeroDivisionError: division by zero\n"
    )


def test_a_crash_has_the_shells_exit_code(host_of: HostOf) -> None:
    base = host_of("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)")
    assert run(base)[0] == 139
    assert "signal SIGSEGV" in failure_of(base)


def test_hostile_hyperparameters_arrive_as_they_are(host_of: HostOf, tmp_path: Path) -> None:
    trap = tmp_path / "sprung"
    values = {
        "a": f"; touch {trap}",
        "b": f"$(touch {trap})",
        "c": f"`touch {trap}`",
        "d": f"x\ntouch {trap}",
        "e": "--epochs=9 'quoted\" \\",
        f"f;touch {trap}": "in the name",
        "PATH": "/nowhere",
        "ünï": "✓",
    }
    base = host_of("import json, sys\nprint('ARGV', json.dumps(sys.argv[1:]))", **values)
    code, log = run(base)
    assert code == 0, log
    line = next(line for line in log.splitlines() if line.startswith("ARGV "))
    expected: list[str] = []
    for name in sorted(values):
        expected += [f"--{name}" if len(name) > 1 else f"-{name}", values[name]]
    assert json.loads(line[5:]) == expected
    assert not trap.exists()


def test_problems_are_in_log_and_failure_file(host_of: HostOf) -> None:
    base = host_of("", checkpoints=False, tidewheel_strategy="magic")
    code, log = run(base, TIDEWHEEL_SPOT="1")
    assert code == 1
    for text in (log, failure_of(base)):
        assert "nowhere to save" in text
        assert "choose one of single, ddp" in text


def test_the_script_gets_sigterm_and_time_to_save(host_of: HostOf) -> None:
    base = host_of(SAVES_ON_SIGTERM)
    with running([base]) as cluster:
        await_line(cluster, "ready")
        cluster.signal_all(signal.SIGTERM)
        assert cluster.wait(15) == [143], cluster.log()
        assert "checkpoint step-00000007 is complete: step 7 of 100 is safe" in cluster.log()
        assert cluster.progress()["step"] == 7
    assert failure_of(base) == ""


def test_a_finished_training_ends_well_despite_a_stop(host_of: HostOf) -> None:
    base = host_of(SAVES_ON_SIGTERM.replace("save(7)", "save(100)"))
    with running([base]) as cluster:
        await_line(cluster, "ready")
        cluster.signal_all(signal.SIGTERM)
        assert cluster.wait(15) == [0], cluster.log()


def test_the_stop_file_holds_the_deadline(host_of: HostOf) -> None:
    base = host_of(f"""
import os, pathlib, time
import tidewheel
assert not tidewheel.stop_soon() and tidewheel.stop_deadline() is None
{READY}
while not tidewheel.stop_soon():
    time.sleep(0.01)
time.sleep(0.5)
print("SECONDS", tidewheel.stop_deadline() - time.time())
print("FILE", pathlib.Path(os.environ["TIDEWHEEL_STOP_FILE"]).read_text())
""")
    with running([base], TIDEWHEEL_GRACE_SECONDS="30") as cluster:
        await_line(cluster, "ready")
        cluster.signal_all(signal.SIGTERM)
        assert cluster.wait(15) == [143], cluster.log()
        lines = cluster.log().splitlines()
    seconds = float(next(line for line in lines if line.startswith("SECONDS"))[8:])
    assert 20 < seconds < 30
    document = json.loads(next(line for line in lines if line.startswith("FILE"))[5:])
    assert document["reason"] == "SIGTERM"
    assert document["graceSeconds"] == 30
    assert set(document) == {
        "reason",
        "requestedAt",
        "deadline",
        "deadlineUnixSeconds",
        "graceSeconds",
    }


def test_a_script_that_stays_is_killed_after_the_grace(host_of: HostOf) -> None:
    base = host_of(f"""
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, lambda *_: print("no", flush=True))
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
{READY}
while True:
    time.sleep(1)
""")
    with running([base], TIDEWHEEL_GRACE_SECONDS="1") as cluster:
        await_line(cluster, "ready")
        cluster.signal_all(signal.SIGTERM)
        assert cluster.wait(15) == [143], cluster.log()
        assert cluster.log().count("no\n") == 1
    assert processes_below(base) == []


def test_a_script_without_handler_reaches_its_next_checkpoint(host_of: HostOf) -> None:
    base = host_of(f"""
import time
{SAVE}
{READY}
for step in range(1, 100):
    time.sleep(2)
    save(step)
""")
    with running([base]) as cluster:
        await_line(cluster, "ready")
        cluster.signal_all(signal.SIGTERM)
        assert cluster.wait(15) == [143], cluster.log()
        assert cluster.progress()["step"] == 1
        assert "has no SIGTERM handler; step-00000001 is new and complete" in cluster.log()


def test_a_script_that_finishes_in_the_grace_has_finished(host_of: HostOf) -> None:
    base = host_of(f"""
import os, pathlib, time
{READY}
time.sleep(3)
pathlib.Path(os.environ["SM_MODEL_DIR"], "model").write_text("trained")
""")
    with running([base]) as cluster:
        await_line(cluster, "ready")
        cluster.signal_all(signal.SIGTERM)
        assert cluster.wait(15) == [0], cluster.log()
        assert "finished before the stop reached it" in cluster.log()


def test_a_script_that_asks_for_the_stop_file_has_not_finished(host_of: HostOf) -> None:
    base = host_of(f"""
import os, time
{READY}
while not os.path.exists(os.environ["TIDEWHEEL_STOP_FILE"]):
    time.sleep(0.1)
""")
    with running([base]) as cluster:
        await_line(cluster, "ready")
        cluster.signal_all(signal.SIGTERM)
        assert cluster.wait(15) == [143], cluster.log()


def test_a_script_that_cannot_save_ends_at_once(host_of: HostOf) -> None:
    base = host_of(f"import time\n{READY}\ntime.sleep(60)", checkpoints=False)
    with running([base]) as cluster:
        await_line(cluster, "ready")
        cluster.signal_all(signal.SIGTERM)
        assert cluster.wait(10) == [143], cluster.log()
    assert failure_of(base) == ""


def test_sigterm_reaches_a_wrapped_program_but_no_worker(host_of: HostOf) -> None:
    base = host_of(f"""
import subprocess, sys
inner = '''{SAVES_ON_SIGTERM.replace(READY, "")}'''.replace(
    "time.sleep(60)",
    "import multiprocessing\\n"
    "worker = multiprocessing.get_context('fork').Process(target=time.sleep, args=(60,))\\n"
    "worker.daemon = True\\n"
    "worker.start()\\n"
    "print('ready', flush=True)\\n"
    "time.sleep(60)",
)
sys.exit(subprocess.run([sys.executable, "-c", inner]).returncode)
""")
    with running([base]) as cluster:
        await_line(cluster, "ready")
        cluster.signal_all(signal.SIGTERM)
        assert cluster.wait(15) == [143], cluster.log()
        assert cluster.log().count("SIGTERM passed on") == 1
        assert cluster.progress()["step"] == 7


def test_no_process_outlives_a_killed_agent(host_of: HostOf) -> None:
    base = host_of(
        "import subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'],"
        f" start_new_session=True)\n{READY}\ntime.sleep(60)"
    )
    with running([base]) as cluster:
        await_line(cluster, "ready")
        assert len(processes_below(base)) >= 2
        cluster.signal_all(signal.SIGKILL)
        wait_until(lambda: processes_below(base) == [], 10, "the script is gone")


def test_progress_lines_become_the_next_checkpoints_metrics(host_of: HostOf) -> None:
    base = host_of(
        f"import tidewheel\n{SAVE}\n"
        "tidewheel.progress(9, 100, loss=0.5, accuracy=0.9)\nsave(9, None)"
    )
    with running([base]) as cluster:
        assert cluster.wait(15) == [0], cluster.log()
        assert "tidewheel step=9 total=100 loss=0.5 accuracy=0.9" in cluster.log()
        progress = cluster.progress()
    assert (progress["step"], progress["totalSteps"]) == (9, 100)
    assert progress["metrics"] == {"loss": 0.5, "accuracy": 0.9}


SLOW_SAVE = """
import json, os, time
folder = tidewheel.checkpoint_dir()
for step in (1, 2):
    began = time.time()
    path = os.path.join(folder, f"step-{step:08d}")
    os.makedirs(path)
    time.sleep(0.6)
    open(os.path.join(path, "state"), "w").close()
    with open(os.path.join(path, "COMPLETE.json"), "w") as file:
        json.dump({"step": step, "files": {"state": {"bytes": 0}}}, file)
    print(f"SAVED in {time.time() - began}", flush=True)
    time.sleep(1.5)
"""


def seconds_after(words: str, log: str) -> list[float]:
    return [float(line.split()[-1]) for line in log.splitlines() if line.startswith(words)]


def progress_of(base: Path) -> dict[str, Any]:
    path = base / "checkpoints" / "tidewheel-progress.json"
    note: dict[str, Any] = json.loads(path.read_text())
    return note


def test_file_timestamps_show_how_long_a_save_took(host_of: HostOf) -> None:
    base = host_of("import tidewheel\n" + SLOW_SAVE)
    code, log = run(base)
    assert code == 0, log
    seconds = progress_of(base).get("saveSeconds")
    if seconds is None:
        pytest.skip("this file system does not record when a file was created")
    # The second save counts alone. A file's time is a few milliseconds behind the clock.
    assert 0.6 <= seconds <= seconds_after("SAVED in", log)[1] + 0.02
    summary = json.loads((base / "output/data/usage-127.0.0.1-summary.json").read_text())
    assert summary["checkpoints"]["saveSeconds"] == pytest.approx(seconds, abs=0.001)


def test_the_scripts_own_save_duration_wins(host_of: HostOf) -> None:
    script = (
        """
import tidewheel, time
began = time.monotonic()
with tidewheel.saving():
    time.sleep(0.2)
print(f"SAVING for {time.monotonic() - began}", flush=True)
"""
        + SLOW_SAVE
    )
    base = host_of(script)
    code, log = run(base)
    assert code == 0, log
    own, *_ = seconds_after("SAVING for", log)
    assert 0.2 <= progress_of(base)["saveSeconds"] <= own + 0.001


def test_an_installation_error_hides_credentials(host_of: HostOf, tmp_path: Path) -> None:
    base = host_of("print('never')")
    (tmp_path / "source" / "requirements.txt").write_text("tidetest-that-does-not-exist==9\n")
    code, log = run(
        base,
        PIP_INDEX_URL="http://someone:secret@127.0.0.1:9/simple",
        PIP_RETRIES="0",
        TIDEWHEEL_INSTALL_SECONDS="6",
    )
    assert code == 1
    # The index does not answer: no fault of the script.
    assert failure_of(base).startswith("Platform failure (packages): requirements.txt cannot")
    assert re.search(r"pip's (errors|last lines):", failure_of(base))
    for text in (log, failure_of(base)):
        assert "secret" not in text and "someone" not in text
        assert "never" not in text


def test_an_unknown_package_is_the_sources_error(host_of: HostOf, tmp_path: Path) -> None:
    base = host_of("print('never')")
    (tmp_path / "source" / "requirements.txt").write_text("tidetest-that-does-not-exist==9\n")
    code, _ = run(base, PIP_NO_INDEX="1", TIDEWHEEL_INSTALL_SECONDS="60")
    assert code == 1
    assert failure_of(base).startswith("Cannot start: requirements.txt cannot be installed")
    assert "No matching distribution found for tidetest-that-does-not-exist" in failure_of(base)


def test_a_full_disk_is_the_platforms_failure(host_of: HostOf, tmp_path: Path) -> None:
    base = host_of("print('never')")
    (tmp_path / "source" / "requirements.txt").write_text("tidetest==9\n")
    pip = tmp_path / "pip-that-fails"
    (pip / "pip").mkdir(parents=True)
    (pip / "pip" / "__init__.py").touch()
    words = "ERROR: [Errno 28] No space left on device"
    (pip / "pip" / "__main__.py").write_text(f"import sys\nprint({words!r})\nsys.exit(1)\n")
    code, log = run(base, PYTHONPATH=str(pip))
    assert code == 1, log
    assert failure_of(base).startswith("Platform failure (disk): requirements.txt cannot")


FILLS_THE_DISK = "open('/dev/full', 'w').write('x' * 100_000)"


def test_a_full_disk_is_never_the_scripts_failure(host_of: HostOf) -> None:
    base = host_of(FILLS_THE_DISK)
    code, log = run(base)
    assert code == 1, log
    assert failure_of(base).startswith("Platform failure (disk): train.py ended with exit code 1")
    assert "No space left on device" in failure_of(base)


def test_a_disk_without_room_for_the_failure_has_its_own_exit_code(host_of: HostOf) -> None:
    base = host_of(FILLS_THE_DISK)
    (base / "output").mkdir(exist_ok=True)
    (base / "output" / "failure").symlink_to("/dev/full")
    code, log = run(base)
    assert code == DISK_FULL_EXIT_CODE == 74
    assert "No space left on device" in log


def test_a_copy_of_many_files_names_a_full_disk() -> None:
    with pytest.raises(shutil.Error) as copied, tempfile.TemporaryDirectory() as folder:
        Path(folder, "a").touch()
        shutil.copytree(folder, Path(folder, "b"), copy_function=_fill)
    assert is_disk_full(copied.value)
    assert not is_disk_full(shutil.Error([("a", "b", "[Errno 13] Permission denied")]))


def _fill(source: str, _target: str) -> None:
    with Path(source).open("rb"), Path("/dev/full").open("wb", buffering=0) as full:
        full.write(b"x")


def test_a_stop_ends_the_installation(host_of: HostOf, tmp_path: Path) -> None:
    base = host_of("print('never')")
    (tmp_path / "source" / "requirements.txt").write_text("tidetest-that-does-not-exist==9\n")
    with running([base], PIP_INDEX_URL="http://127.0.0.1:9/simple") as cluster:
        await_line(cluster, "installing requirements.txt")
        cluster.signal_all(signal.SIGTERM)
        assert cluster.wait(10) == [143], cluster.log()
        assert "never" not in cluster.log()
    assert failure_of(base) == ""


def test_the_agents_python_runs_the_script(host_of: HostOf) -> None:
    expected = os.path.normpath(sys.executable)  # pytest may have been started by a relative path.
    assert expected in run(host_of("import sys\nprint(sys.executable)"))[1]


def test_a_failure_of_the_agent_is_reported(host_of: HostOf) -> None:
    base = host_of("print('never')")
    # A file takes the place of the source folder, so the copy fails.
    (base / "code").write_text("")
    code, log = run(base)
    assert code == 1
    assert "The agent failed: FileExistsError" in failure_of(base)
    assert "Traceback" not in log


def test_a_slow_pattern_loses_no_last_lines(host_of: HostOf) -> None:
    slow = r"(?P<step>\d)?" + r"\S*\s*" * 7 + "!"
    script = "print('a' * 400, flush=True)\nraise RuntimeError('the reason')"
    base = host_of(script, tidewheel_progress_pattern=slow)
    code, printed = run(base)
    assert code == 1
    assert "the reason" in failure_of(base)
    assert "training.progress.pattern finds nothing more: a search took over" in printed
