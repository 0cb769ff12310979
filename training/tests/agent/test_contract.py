"""What agent and service write for each other, as Python reads, changes and keeps it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tidewheel_agent.files import change_document, read_document
from tidewheel_contract.documents import AutomaticNote, AutomaticNoteOffer, HangNote
from tidewheel_contract.keep_last import superseded
from tidewheel_contract.on_use import made
from tidewheel_contract.reading import path_in

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    from tidewheel_contract.on_use import dataclass


def test_a_document_of_a_later_release_is_named_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "algo-1.json"
    path.write_text('{"version": 2, "hangsSince": null}')
    assert [read_document(HangNote, path) for _ in range(2)] == [None, None]
    said = capfd.readouterr().out
    assert said.count("algo-1.json: it is of version 2, and this release reads up to 1") == 1


def test_a_change_in_place_keeps_fields_of_a_later_release(tmp_path: Path) -> None:
    path = path_in(tmp_path, AutomaticNote)
    path.write_text('{"later": [1], "trial": "no trial", "offer": {"attempt": 1}}')
    change_document(path, AutomaticNote(offer=AutomaticNoteOffer(attempt=2)))
    written = json.loads(path.read_text())
    assert (written["later"], written["offer"]["attempt"], written["version"]) == ([1], 2, 1)
    assert "trial" not in written


@pytest.mark.parametrize(
    ("oldest_first", "keep", "going"),
    [
        ("W1 W2 W3", 2, "W1"),
        ("W1 W2 W3", 1, "W1 W2"),
        ("W1 p2 W3", 2, "p2"),
        ("W1 W2 p3", 2, ""),
        ("p1 p2", 1, ""),
        ("", 2, ""),
    ],
)
def test_the_last_whole_checkpoints_stay(oldest_first: str, keep: int, going: str) -> None:
    found = superseded(oldest_first.split(), keep, lambda name: name.startswith("W"))
    assert found == going.split()


def test_a_document_is_a_dataclass_when_it_is_used() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Base:
        pass

    @dataclass(frozen=True, kw_only=True)
    class Note(Base):
        step: int
        reason: str = ""

    assert "__dataclass_fields__" not in vars(Note)
    note = Note(step=1)
    assert note == Note(step=1, reason="")
    assert repr(note).endswith("Note(step=1, reason='')")
    assert dataclasses.replace(note, step=2) == Note(step=2)
    assert hash(note) == hash(Note(step=1))
    with pytest.raises(dataclasses.FrozenInstanceError):
        note.step = 3  # type: ignore[misc] # It is refused, which is the point.
    with pytest.raises(TypeError, match="'step'"):
        Note(reason="none")  # type: ignore[call-arg]
    assert [each.name for each in dataclasses.fields(made(Note))] == ["step", "reason"]
