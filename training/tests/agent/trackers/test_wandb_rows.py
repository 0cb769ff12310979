"""Rows that W&B's process had not written reach the run again, each once."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from tidewheel_agent.series.protobuf import varint
from tidewheel_agent.series.wandb_file import WandbFile
from tidewheel_agent.trackers.resume_point import BEGINNING, ResumePoint
from tidewheel_agent.trackers.wandb_rows import prepare_wandb

RECORDED = Path(__file__).parents[1] / "series" / "recorded" / "run-recorded.wandb"
HEAD = struct.Struct("<qdII")


def frame(step: int, at: float, message: bytes) -> bytes:
    return HEAD.pack(step, at, len(message), zlib.crc32(message)) + message


def request(step: int) -> bytes:
    """A PartialHistoryRequest that holds nothing but its step."""
    number = b"\x08" + varint(step)
    return b"\x12" + varint(len(number)) + number


def trackers(folder: Path, *steps: int, process: int = 7) -> tuple[Path, list[float]]:
    """Recorded rows of steps 0 to 2 and more, and a journal of the given steps."""
    run = folder / "wandb" / "offline-run-1-digits-1"
    run.mkdir(parents=True, exist_ok=True)
    path = run / "run-digits-1.wandb"
    path.write_bytes(RECORDED.read_bytes())
    times = [row.at or 0.0 for row in WandbFile(path).read()]
    rows = folder / "wandb-rows"
    rows.mkdir(exist_ok=True)
    journal = rows / f"digits-1.{process}.0.rows"
    journal.write_bytes(b"".join(frame(s, times[0] + s, request(s)) for s in steps))
    return path, times


def again(folder: Path) -> list[tuple[int, bytes]]:
    data, found = (folder / "wandb-rows" / "digits-1.again").read_bytes(), []
    while data:
        step, _, length, checksum = HEAD.unpack_from(data)
        message = data[HEAD.size : HEAD.size + length]
        assert zlib.crc32(message) == checksum
        found.append((step, message))
        data = data[HEAD.size + length :]
    return found


def stored(path: Path) -> list[int]:
    return [int(row.position) for row in WandbFile(path).read()]


def resume_at(step: int, first: float) -> ResumePoint:
    return ResumePoint(step, after=first, saved_at=first + step + 0.5)


def test_rows_up_to_the_checkpoint_come_again(tmp_path: Path) -> None:
    path, times = trackers(tmp_path, *range(12))
    last = stored(path)[-1]
    prepare_wandb(tmp_path, resume_at(last + 2, times[0]))
    assert again(tmp_path) == [
        (last + 1, request(last + 1)),
        (last + 2, request(last + 2)),
        (last + 3, b""),
    ]
    assert list((tmp_path / "wandb-rows").glob("*.rows")) == []


def test_a_second_start_before_the_script_logs_changes_nothing(tmp_path: Path) -> None:
    path, times = trackers(tmp_path, *range(12))
    resume = resume_at(stored(path)[-1] + 2, times[0])
    prepare_wandb(tmp_path, resume)
    first = again(tmp_path)
    prepare_wandb(tmp_path, resume)
    assert again(tmp_path) == first
    # The agent died between writing the one file and removing the other.
    trackers(tmp_path, *range(12))
    prepare_wandb(tmp_path, resume)
    assert again(tmp_path) == first


def test_rows_past_the_checkpoint_are_forgotten_in_both(tmp_path: Path) -> None:
    path, times = trackers(tmp_path, *range(12))
    assert stored(path)[-1] >= 2
    assert prepare_wandb(tmp_path, resume_at(1, times[0])) == 10
    assert stored(path) == [0, 1]
    assert again(tmp_path) == [(2, b"")]


def test_a_frame_that_a_kill_cut_short_ends_the_journal(tmp_path: Path) -> None:
    path, times = trackers(tmp_path, *range(12))
    last = stored(path)[-1]
    journal = tmp_path / "wandb-rows" / "digits-1.7.0.rows"
    size = len(frame(last + 1, 0.0, request(last + 1)))
    journal.write_bytes(journal.read_bytes()[: size * (last + 2) + 5])
    prepare_wandb(tmp_path, resume_at(last + 2, times[0]))
    assert [step for step, message in again(tmp_path) if message] == [last + 1]


def test_a_training_from_the_beginning_gets_no_rows(tmp_path: Path) -> None:
    path, _ = trackers(tmp_path, *range(12))
    prepare_wandb(tmp_path, BEGINNING)
    assert stored(path) == []
    assert not (tmp_path / "wandb-rows" / "digits-1.again").exists()


def test_nothing_comes_again_where_the_resumed_step_is_unknown(tmp_path: Path) -> None:
    path, _ = trackers(tmp_path, *range(12))
    before = stored(path)
    assert prepare_wandb(tmp_path, None) == 0
    assert stored(path) == before
    assert list((tmp_path / "wandb-rows").iterdir()) == []
