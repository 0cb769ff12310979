"""The ddp recipe's data, without processes."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from common.images import Batches, sample_indices
from common.preparation import Preparation
from common.shards import ImageReader, fingerprint, is_held_out, read_index
from common.world import Share
from config import Config
from digits import write_digits


def write_tar(path: Path, members: list[tuple[str, bytes]]) -> None:
    with tarfile.open(path, "w") as tar:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


@settings(max_examples=60)
@given(
    samples=st.integers(8, 300),
    ranks=st.sampled_from([1, 2, 3, 4, 8]),
    step=st.integers(0, 200),
    seed=st.integers(0, 2**31 - 1),
)
def test_every_world_size_computes_the_same_batch(
    samples: int, ranks: int, step: int, seed: int
) -> None:
    batch = 24
    per_epoch = samples // batch
    if per_epoch == 0:
        return

    def of(rank: int, size: int) -> list[int]:
        share = Share(rank=rank, ranks=size, batch_size=batch)
        return sample_indices(step, samples=samples, per_epoch=per_epoch, seed=seed, share=share)

    shares = [of(rank, ranks) for rank in range(ranks)]
    assert {len(share) for share in shares} == {batch // ranks}
    assert [index for share in shares for index in share] == of(0, 1)


def test_epochs_differ_and_repeat_no_sample() -> None:
    share = Share(rank=0, ranks=1, batch_size=10)
    orders = [
        [
            i
            for s in range(10)
            for i in sample_indices(epoch * 10 + s, samples=105, per_epoch=10, seed=3, share=share)
        ]
        for epoch in range(2)
    ]
    assert all(len(set(order)) == 100 for order in orders)
    assert orders[0] != orders[1]


@pytest.mark.parametrize("stop_at", [1, 22, 23, 40])
def test_a_resumed_stream_continues_the_whole_one(digit_shards: Path, stop_at: int) -> None:
    samples = read_index(digit_shards)
    labels = sorted({sample.label for sample in samples})
    reader = ImageReader(samples[0], 64)
    batches = Batches(samples[:500], labels, reader, 22, 5, Share(rank=1, ranks=2, batch_size=22))
    whole = list(batches.from_step(0, 44))
    parts = [*batches.from_step(0, stop_at), *batches.from_step(stop_at, 44)]
    assert len(parts) == len(whole) == 44
    for (images, targets), (same_images, same_targets) in zip(parts, whole, strict=True):
        assert torch.equal(images, same_images)
        assert torch.equal(targets, same_targets)


def test_the_loader_tells_its_samples_to_the_hooks(digit_shards: Path, tmp_path: Path) -> None:
    from tidewheel_instrument.meter import Meter
    from tidewheel_instrument.pytorch import install

    samples = read_index(digit_shards)
    labels = sorted({sample.label for sample in samples})
    batches = Batches(
        samples[:500], labels, ImageReader(samples[0], 64), 22, 5, Share(0, 2, batch_size=22)
    )
    meter = Meter(str(tmp_path))
    install(meter)
    try:
        next(batches.from_step(0, 44))
    finally:
        meter.uninstall()
    assert meter.pending == 11


def test_generations_are_read_at_any_depth(tmp_path: Path) -> None:
    write_digits(tmp_path / "digits-000001" / "shards", shards=3)
    write_digits(tmp_path / "deeper" / "digits-000002" / "shards", shards=2)
    samples = read_index(tmp_path)
    assert len(samples) == 2 * 1797
    assert [s.shard for s in samples] == sorted(s.shard for s in samples)
    assert len({s.label for s in samples}) == 10


def test_cached_images_equal_uncached_ones(digit_shards: Path) -> None:
    samples = read_index(digit_shards)[:50]
    cached, uncached = ImageReader(samples[0], 64), ImageReader(samples[0], 0)
    for sample in samples:
        image = cached.read(sample)
        assert image.shape == (1, 8, 8)
        assert 0.5 < float(image.max()) <= 1.0
        assert torch.equal(image, uncached.read(sample))
        assert torch.equal(image, cached.read(sample))


def test_incomplete_samples_are_left_out(tmp_path: Path, digit_shards: Path) -> None:
    first = read_index(digit_shards)[0]
    with first.shard.open("rb") as file:
        file.seek(first.offset)
        png = file.read(first.size)
    write_tar(
        tmp_path / "a.tar",
        [
            ("README", b"no suffix"),
            ("x/lonely.png", png),
            ("x/unlabelled.jpg", png),
            ("x/whole.CLS", b" 7\n"),
            ("x/whole.PNG", png),
            ("x/label-only.cls", b"1"),
            ("x/img.with.dots.png", png),
            ("x/img.with.dots.cls", b"3"),
        ],
    )
    assert [(s.key, s.label) for s in read_index(tmp_path)] == [("x/whole", "7")]


def test_a_folder_without_samples_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no samples in 0 shards below .*<key>\.cls"):
        read_index(tmp_path)


def test_more_held_out_data_keeps_what_was_held_out(tmp_path: Path) -> None:
    keys = [f"{n % 10}/{n:04d}" for n in range(5000)]
    share = sum(is_held_out(key, 20) for key in keys) / len(keys)
    assert 0.18 < share < 0.22
    assert all(is_held_out(key, 30) for key in keys if is_held_out(key, 20))


def test_the_fingerprint_changes_with_the_samples(digit_shards: Path) -> None:
    samples = read_index(digit_shards)
    assert fingerprint(samples) == fingerprint(read_index(digit_shards))
    assert fingerprint(samples) != fingerprint(samples[:-1])
    assert fingerprint(samples) != fingerprint(samples[::-1])


def test_the_error_names_all_bad_settings() -> None:
    with pytest.raises(ValueError, match=r"epochs=0.*dropout=2"):
        Config(epochs=0, dropout=2)


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(SystemExit):
        Config.from_arguments(["--epoch", "3"])
    assert Config.from_arguments(["--epochs", "3"]).epochs == 3


def test_an_image_is_resized_and_blurred_at_each_read(tmp_path: Path) -> None:
    write_digits(tmp_path / "digits", shards=1)
    sample = read_index(tmp_path / "digits")[0]
    plain = ImageReader(sample, 1)
    assert plain.shape == (1, 8, 8)
    blurred = ImageReader(sample, 1, Preparation(side=28, blurs=3))
    first, again = blurred.read(sample), blurred.read(sample)
    assert blurred.shape == (1, 28, 28)
    assert torch.equal(first, again)
    # The weights of a blur add up to 1, and mirrored edges lose nothing.
    assert float(first.mean()) == pytest.approx(float(plain.read(sample).mean()), abs=0.05)
    assert float(first.std()) < float(plain.read(sample).std()) / 2
