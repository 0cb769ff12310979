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


def test_a_post_has_the_articles_size_and_few_steps() -> None:
    posts = {each.name: each.article for each in articles.WORKLOADS if each.article}
    assert posts == {
        "ray-post": articles.Size(224, 64, 1_000),
        "spot-post": articles.Size(224, 128, 100),
    }
    assert size_of("ray-post") == articles.Size(224, 64, 3)
    assert size_of("ray-post", steps=1_000) == posts["ray-post"]
    assert size_of("spot-post") == articles.Size(224, 128, 11)
    assert size_of("ray-blurs") == articles.Size(56, 16, 30)


def test_memory_that_is_not_there_ends_it_with_the_remedy() -> None:
    size = articles.Size(224, 128, 10)
    needed = r"86,567,656 parameters, batch 128: 17\.4 GB of memory"
    with pytest.raises(articles.WorkloadError, match=needed + r".*give --batch 52 or fewer"):
        articles.check_memory(size, 8 * GIGABYTE)
    with pytest.raises(articles.WorkloadError, match="free some"):
        articles.check_memory(size, GIGABYTE)
    assert "17.4 GB" in articles.check_memory(size, 20 * GIGABYTE)


def test_the_expected_seconds_cover_the_articles_steps_too() -> None:
    article = articles.Size(224, 64, 1_000)
    said = articles.expectation(article, articles.Size(224, 64, 3), 66.0)
    steps = "3.3 min for 3 steps (the article's 1,000: 18.3 h)"
    assert said == f"about 66.0 s a step on a free CPU, {steps}"
