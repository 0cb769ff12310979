"""What the articles' own models take, before they train."""

from __future__ import annotations

import argparse

import pytest

import articles

GIGABYTE = 10**9


def size_of(name: str, **given: int) -> articles.Size:
    workload = next(each for each in articles.WORKLOADS if each.name == name)
    usual = dict.fromkeys(("side", "batch", "steps"), None)
    return articles._size_of(workload, argparse.Namespace(**{**usual, **given}))


def test_a_post_has_the_articles_size() -> None:
    assert size_of("ray-post") == articles.Size(224, 64, 1_000)
    assert size_of("spot-post", steps=3) == articles.Size(224, 128, 3)
    assert size_of("ray-blurs") == articles.Size(56, 16, 30)


def test_memory_that_is_not_there_ends_it_with_the_remedy() -> None:
    size = articles.Size(224, 128, 10)
    needed = r"86,567,656 parameters, batch 128: .* 17\.4 GB of memory"
    with pytest.raises(articles.WorkloadError, match=needed + r".*give --batch 52 or fewer"):
        articles.expect(size, 8 * GIGABYTE)
    with pytest.raises(articles.WorkloadError, match="free some"):
        articles.expect(size, GIGABYTE)
    assert "10 steps" in articles.expect(size, 20 * GIGABYTE)
