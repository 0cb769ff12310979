"""The table of docs/training.md has a row for each framework that a test makes files of."""

from __future__ import annotations

from pathlib import Path

from cases import BY_HAND, CASES
from hosts import TRAINING

ROOM = Path(__file__).parent


def test_each_row_of_the_page_has_its_test() -> None:
    page = (TRAINING.parent / "docs" / "training.md").read_text(encoding="utf-8")
    table = page.split("| written by |")[1].split("\n\n")[0].splitlines()[2:]
    rows = [line.split(" | ")[0].removeprefix("| ") for line in table]
    assert sorted(rows) == sorted({*BY_HAND, *(case.row for case in CASES)})
    tests = "".join(path.read_text(encoding="utf-8") for path in ROOM.glob("test_*.py"))
    assert [name for name in BY_HAND.values() if f"def {name}(" not in tests] == []
