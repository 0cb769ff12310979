"""Text as tokens: bytes, and the most frequent pieces of words.

Byte pair encoding (https://arxiv.org/abs/1508.07909) merges pairs within words only. A word is a
run of letters, digits or other signs with the space before it. Every text can be encoded and
decodes to the same bytes.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

_WORD = re.compile(rb" ?[A-Za-z\x80-\xff]+| ?[0-9]+| ?[^\sA-Za-z0-9\x80-\xff]+|\s")
Merge = tuple[int, int]


class Tokenizer:
    """`merges`: pairs of tokens in the order of their merging; the n-th makes token 256 + n."""

    def __init__(self, merges: Sequence[Merge]) -> None:
        self.merges = [(int(a), int(b)) for a, b in merges]
        self._order = {pair: number for number, pair in enumerate(self.merges)}
        self._bytes = [bytes([value]) for value in range(256)]
        for a, b in self.merges:
            self._bytes.append(self._bytes[a] + self._bytes[b])
        self._known: dict[bytes, list[int]] = {}

    @property
    def size(self) -> int:
        return 256 + len(self.merges)

    def encode(self, text: bytes) -> npt.NDArray[np.uint16]:
        if not self.merges:
            return np.frombuffer(text, np.uint8).astype(np.uint16)
        tokens: list[int] = []
        for word in _WORD.findall(text):
            found = self._known.get(word)
            if found is None:
                found = self._known[word] = self._encode_word(word)
            tokens += found
        return np.array(tokens, np.uint16)

    def decode(self, tokens: Iterable[int]) -> bytes:
        return b"".join(self._bytes[token] for token in tokens)

    def _encode_word(self, word: bytes) -> list[int]:
        parts = list(word)
        while len(parts) > 1:
            pairs = set(itertools.pairwise(parts))
            best = min(pairs, key=lambda pair: self._order.get(pair, len(self._order)))
            if best not in self._order:
                break
            parts = _merged(parts, best, 256 + self._order[best])
        return parts


def learn(text: bytes, vocabulary: int) -> Tokenizer:
    """The same text always gives the same tokens: of equally frequent pairs the smaller wins."""
    words = Counter(_WORD.findall(text))
    split = {word: list(word) for word in sorted(words)}
    merges: list[Merge] = []
    while 256 + len(merges) < vocabulary:
        pairs: Counter[Merge] = Counter()
        for word, parts in split.items():
            for pair in itertools.pairwise(parts):
                pairs[pair] += words[word]
        if not pairs:
            break
        best, seen = min(pairs.items(), key=lambda item: (-item[1], item[0]))
        if seen < 2:
            break
        token = 256 + len(merges)
        merges.append(best)
        for word, parts in split.items():
            if len(parts) > 1:
                split[word] = _merged(parts, best, token)
    return Tokenizer(merges)


def _merged(parts: list[int], pair: Merge, token: int) -> list[int]:
    result: list[int] = []
    at = 0
    while at < len(parts):
        if at + 1 < len(parts) and (parts[at], parts[at + 1]) == pair:
            result.append(token)
            at += 2
        else:
            result.append(parts[at])
            at += 1
    return result
