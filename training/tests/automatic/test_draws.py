"""What the journal keeps of generators from which a loader and the script draw."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator

import numpy
import pytest
import torch

from tidewheel_automatic.draws import Draws, Work
from tidewheel_automatic.state import randomness

STEPS = 700


@pytest.fixture(autouse=True)
def generators() -> Iterator[None]:
    python, legacy = random.getstate(), numpy.random.get_state()
    yield
    random.setstate(python)
    numpy.random.set_state(legacy)


def played() -> tuple[list[Work], list[float], int]:
    """The loader's work, what the script drew after each, and the bytes that were counted."""
    works, drawn, sizes = list[Work](), list[float](), list[int]()

    def may_read(size: int) -> bool:
        sizes.append(size)
        return True

    draws = Draws(may_read)
    for _ in range(STEPS):
        before, work = draws.before(), Work(None)
        random.random()
        numpy.random.standard_normal()
        draws.after(before, work)
        works.append(work)
        drawn.append(random.random() + numpy.random.standard_normal())
    draws.before()
    return works, drawn, sum(sizes)


def test_a_replay_draws_what_the_script_drew() -> None:
    works, drawn, _ = played()
    copies = pickle.loads(pickle.dumps(works))
    random.seed(1)
    numpy.random.seed(1)
    again = Draws(lambda _: True)
    for work, value in zip(copies, drawn, strict=True):
        again.again(work)
        assert random.random() + numpy.random.standard_normal() == value


def test_a_key_is_in_the_journal_once() -> None:
    works, _, counted = played()
    assert counted < 200 * STEPS
    assert len(pickle.dumps(works)) < 300 * STEPS


def test_a_state_of_pytorch_has_its_key_apart() -> None:
    generator = torch.Generator()
    before = randomness.packed(generator.get_state())
    drawn = torch.rand(5, generator=generator)
    after = randomness.packed(generator.get_state())
    torch.rand(1, generator=generator)
    later = randomness.packed(generator.get_state())
    assert after[0] == later[0] != b""
    assert after[1] != later[1]
    assert len(after[1]) < 200
    generator.set_state(randomness.unpacked(*before))
    assert torch.equal(torch.rand(5, generator=generator), drawn)
