"""W&B's transaction log, as wandb 0.31.0 wrote `recorded/`."""

from __future__ import annotations

from pathlib import Path

from tidewheel_agent.series.wandb_file import WandbFile

RECORDED = Path(__file__).parent / "recorded" / "run-recorded.wandb"


def test_rows_of_the_history_are_read() -> None:
    points = list(WandbFile(RECORDED).read())
    assert [point.position for point in points] == [0, 1, 2, 3, 4]
    assert points[1].values == {"loss": 0.5, "a/b": 1.0}
    assert points[0].at is not None and points[0].at > 1.7e9


def test_a_growing_file_gives_each_row_once(tmp_path: Path) -> None:
    whole = RECORDED.read_bytes()
    path = tmp_path / "run-x.wandb"
    file = WandbFile(path)
    found = []
    for end in range(0, len(whole) + 11, 11):
        path.write_bytes(whole[:end])
        found += list(file.read())
    assert found == list(WandbFile(RECORDED).read())


def test_a_file_cut_before_a_row_holds_the_rows_before_it(tmp_path: Path) -> None:
    rows = list(WandbFile(RECORDED).rows())
    path = tmp_path / "run-x.wandb"
    path.write_bytes(RECORDED.read_bytes()[: rows[3][0]])
    assert [row.position for row in WandbFile(path).read()] == [0, 1, 2]


def test_a_file_of_something_else_gives_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "run-x.wandb"
    for content in (b"", b":W&B", b":W&B" + b"\xff" * 99, bytes(99)):
        path.write_bytes(content)
        assert list(WandbFile(path).read()) == []
