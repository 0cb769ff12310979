"""The language model's text, tokens, order and training step, without processes."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from hypothesis import given, settings
from hypothesis import strategies as st

from recipe_modules import load_modules

config, language, learner, make_text, model, text = load_modules(
    "lm", "config", "language", "learner", "make_text", "model", "text"
)


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    make_text.make(tmp_path, shards=2, stories=30)
    return tmp_path


@settings(max_examples=80)
@given(st.binary(max_size=300), st.integers(256, 300))
def test_every_text_decodes_to_the_same_bytes(content: bytes, vocabulary: int) -> None:
    tokenizer = text.learn(content + b" the mill, the mill and the miller", vocabulary)
    encoded = tokenizer.encode(content)
    assert tokenizer.decode(encoded.tolist()) == content
    assert tokenizer.size <= vocabulary


def test_json_lines_are_read_as_text(tmp_path: Path) -> None:
    lines = [json.dumps({"text": f"story {number}"}) for number in range(3)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    (shard,) = text.shard_files(tmp_path)
    assert b"".join(text.read_text(shard)) == b"story 0\nstory 1\nstory 2\n"
    shard.write_text('{"body": 1}\n')
    with pytest.raises(ValueError, match=r"a\.jsonl, line 1: .*field text"):
        list(text.read_text(shard))


def test_a_folder_without_text_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected shards of the format lines"):
        text.shard_files(tmp_path)


def test_training_excludes_held_out_sequences(shards: Path) -> None:
    files = text.shard_files(shards)
    found = text.read_sequences(files, text.learn_tokens(files, 300), 16, 10)
    assert set(found.training).isdisjoint(found.held_out)
    assert len(found.training) + len(found.held_out) == (len(found.tokens) - 1) // 16
    inputs, targets = found.batch(found.training[:3])
    assert inputs.shape == targets.shape == (3, 16)
    assert torch.equal(inputs[:, 1:], targets[:, :-1])
    assert inputs[1, 0] == int(found.tokens[found.training[1] * 16])


@settings(max_examples=60)
@given(
    samples=st.integers(12, 200),
    ranks=st.sampled_from([1, 2, 3, 4, 6]),
    start=st.integers(0, 60),
    seed=st.integers(0, 2**31 - 1),
)
def test_every_world_size_computes_the_same_steps(
    samples: int, ranks: int, start: int, seed: int
) -> None:
    import numpy as np

    numbers = np.arange(samples, dtype=np.int64) * 7

    def of(rank: int, size: int, step: int) -> list[list[int]]:
        share = language.Share(rank=rank, ranks=size, batch_size=12)
        order = language.Order(numbers, samples // 12, seed, share)
        return [list(map(int, row)) for row in order.from_step(step, 64)]

    whole = of(0, 1, 0)[start:]
    together = zip(*(of(rank, ranks, start) for rank in range(ranks)), strict=True)
    assert [[n for share in step for n in share] for step in together] == whole


@given(st.integers(1, 300), st.integers(1, 64))
def test_micro_batches_cover_the_share(own: int, micro_batch: int) -> None:
    parts = language.micro_batches(own, micro_batch)
    sizes = [part.stop - part.start for part in parts]
    assert [n for part in parts for n in range(own)[part]] == list(range(own))
    assert max(sizes) <= micro_batch and min(sizes) >= 1


@pytest.fixture
def one_rank(tmp_path: Path) -> Iterator[None]:
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/meet", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def rows_of(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    random_ = random.Random(3)
    rows = torch.tensor([[random_.randrange(256) for _ in range(9)] for _ in range(count)])
    return rows[:, :-1], rows[:, 1:]


def trained(parts: list[tuple[torch.Tensor, torch.Tensor]], **more: object) -> torch.Tensor:
    torch.manual_seed(5)
    small = config.Config(context=8, width=16, heads=2, depth=1, warmup_steps=0, **more)
    one = learner.Learner(small, torch.device("cpu"), 256)
    for step in range(3):
        one.train_step(parts, step, 10)
    weights: torch.Tensor = one.network.tokens.weight.detach().clone()
    return weights


@pytest.mark.usefixtures("one_rank")
def test_accumulated_gradients_equal_those_of_one_pass() -> None:
    inputs, targets = rows_of(8)
    whole = trained([(inputs, targets)])
    parts = [(inputs[part], targets[part]) for part in language.micro_batches(8, 3)]
    assert len(parts) == 3
    torch.testing.assert_close(trained(parts), whole, rtol=1e-4, atol=1e-6)
    assert not torch.equal(trained([(inputs[:4], targets[:4])]), whole)


@pytest.mark.usefixtures("one_rank")
def test_mixed_precision_keeps_weights_in_float32() -> None:
    rows = [rows_of(8)]
    for precision in ("bfloat16", "float16"):
        mixed = trained(rows, precision=precision)
        assert mixed.dtype == torch.float32
        assert not torch.equal(mixed, trained(rows, precision="float32"))
        torch.testing.assert_close(mixed, trained(rows), rtol=0.2, atol=0.02)


def test_a_larger_batch_has_a_larger_rate() -> None:
    assert config.Config().peak_rate == config.Config().learning_rate
    larger = config.Config(batch_size=128, reference_batch=32, learning_rate=1e-3)
    assert larger.peak_rate == pytest.approx(2e-3)


def test_no_token_sees_a_later_one() -> None:
    torch.manual_seed(1)
    network = model.LanguageModel(300, 8, width=16, depth=2, heads=2, dropout=0.0).eval()
    rows = torch.randint(0, 300, (1, 8))
    changed = rows.clone()
    changed[0, 5] = (changed[0, 5] + 1) % 300
    before, after = network(rows), network(changed)
    assert torch.equal(before[0, :5], after[0, :5])
    assert not torch.equal(before[0, 5:], after[0, 5:])
