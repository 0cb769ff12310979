"""DeepFM's records: from LibSVM, and from a Pipe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recipe_modules import load_modules

records, libsvm, pipe = load_modules("deepfm", "records", "convert_libsvm", "pipe")


def test_libsvm_becomes_the_records_that_train(tmp_path: Path) -> None:
    source = tmp_path / "clicks.libsvm"
    source.write_text("1 1:0.5 3:-2 4:1 9:1\n\n-1 2:0.25 4:1 7:1 # rare\n0 5:1 6:1\n")
    assert libsvm.convert([source], tmp_path / "shards", numbers=3, records=2) == 2
    shards = sorted((tmp_path / "shards").iterdir())
    found = [c for s in shards for c in records.read_clicks(s, records.read_positions(s))]
    assert found == [
        records.Click(1, [0, 5], [0.5, 0.0, -2.0]),
        records.Click(0, [0, 3], [0.0, 0.25, 0.0]),
        records.Click(0, [1, 2], [0.0, 0.0, 0.0]),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 4:1 5:1\n1 4:1", "line 2: 1 features above 3, and lines before have 2"),
        ("2 4:1", "line 1: label 2: give 0 and 1"),
        ("1 4:0.5", "line 1: 4:0.5: give indices from 1 on, and 1 for those above 3"),
        ("1 0:1", "line 1: 0:1: give indices"),
        ("1 x", "line 1: invalid literal"),
    ],
)
def test_a_line_that_does_not_fit_is_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(libsvm.read_lines(line.splitlines(), "clicks", 3))


@pytest.fixture
def piped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The labels' order in two epochs of a sorted stream: files in the place of FIFOs."""
    clicks = [records.Click(int(n >= 60), [n], [0.0]) for n in range(120)]
    (tmp_path / "data").mkdir()
    for epoch in range(2):
        records.write_file(tmp_path / "data" / f"train_{epoch}", clicks)
    monkeypatch.setenv("SM_INPUT_DIR", str(tmp_path))
    monkeypatch.setenv("SM_INPUT_DATA_CONFIG", json.dumps({"train": {}}))
    monkeypatch.setenv("SM_HOSTS", '["a"]')
    monkeypatch.setenv("SM_CURRENT_HOST", "a")
    return list(range(120))


def epochs(**settings: int) -> list[list[int]]:
    reader = pipe.PipeReader(0, **settings)
    read = []
    for _ in range(2):
        reader.next_epoch()
        batches = iter(lambda: reader.take(10), None)
        read.append([click.ids[0] for batch in batches for click in batch])
    return read


def test_a_pipe_is_shuffled_in_another_order_each_epoch(piped: list[int]) -> None:
    assert epochs() == [piped, piped]
    first, second = epochs(shuffle=40, seed=5)
    assert sorted(first) == sorted(second) == piped
    assert first != second
    assert any(number >= 30 for number in first[:20])
    assert epochs(shuffle=40, ahead=20, seed=5) == [first, second]


def test_an_epoch_that_is_left_early_stops_its_reader(piped: list[int]) -> None:
    reader = pipe.PipeReader(0, ahead=5)
    reader.next_epoch()
    assert [click.ids[0] for click in reader.take(3)] == piped[:3]
    reader.next_epoch()
    assert [click.ids[0] for click in reader.take(3)] == piped[:3]


def test_made_clicks_have_the_shape_of_real_ones(tmp_path: Path) -> None:
    (make_data,) = load_modules("deepfm", "make_data")
    make_data.make(tmp_path, make_data.Shape(26, 4522, 13), shards=1, records=20)
    shard = tmp_path / "000000.tfrecord"
    clicks = list(records.read_clicks(shard, records.read_positions(shard)))
    assert {(len(click.ids), len(click.values)) for click in clicks} == {(26, 13)}
    assert len(clicks) == 20
    assert all(click.ids[25] >= 25 * 4522 for click in clicks)
