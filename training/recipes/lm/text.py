"""Reads `lines` shards: `*.txt`, and `*.jsonl` with the text in a field `text`; as tokens.

The tokens of all shards, in the order of their paths, form one long row. A sequence is `context`
tokens of the row and the token after them. Numbers identify the sequences, so a step depends on
numbers alone.

Tokens are bytes, and the most frequent pieces of words. Byte pair encoding
(https://arxiv.org/abs/1508.07909) merges pairs within words only. A word is a run of letters,
digits or other signs with the space before it. Every text can be encoded and decodes to the same
bytes.
"""

import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

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


_LEARN_BYTES = 4_000_000
"""The beginning of the text, from which the tokenizer learns the pieces of words."""
_HOLD_OUT_BLOCK = 8
"""Sequences that are held out together: neighbours share words, which training would know."""


def shard_files(folder: Path) -> list[Path]:
    """All shards, in the order of their paths."""
    shards = [path for path in folder.rglob("*") if path.suffix in (".txt", ".jsonl")]
    if not shards:
        raise ValueError(
            f"no text below {folder}: expected shards of the format lines (*.txt, or *.jsonl with "
            "a field text)"
        )
    return sorted(shards, key=lambda path: path.relative_to(folder).as_posix())


def read_text(shard: Path) -> Iterator[bytes]:
    """The text of a shard, document by document."""
    if shard.suffix == ".txt":
        yield shard.read_bytes()
        return
    with shard.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield json.loads(line)["text"].encode() + b"\n"
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ValueError(
                    f"{shard.name}, line {number}: expected a JSON object with a text in the "
                    f"field text ({error!r})"
                ) from error


def learn_tokens(shards: list[Path], vocabulary: int) -> Tokenizer:
    """Learns from the beginning of the text; with 256 tokens, bytes alone."""
    if vocabulary <= 256:
        return Tokenizer([])
    sample = bytearray()
    for shard in shards:
        for document in read_text(shard):
            sample += document[: _LEARN_BYTES - len(sample)]
        if len(sample) >= _LEARN_BYTES:
            break
    return learn(bytes(sample), vocabulary)


@dataclass(frozen=True)
class Sequences:
    """The whole text as sequences, of which some are held out."""

    tokens: npt.NDArray[np.uint16]
    context: int
    training: npt.NDArray[np.int64]
    """Numbers of the sequences for training."""
    held_out: npt.NDArray[np.int64]
    bytes_per_token: float
    fingerprint: str
    """Changes with any token."""

    def batch(self, numbers: npt.NDArray[np.int64]) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs and targets; the targets are the inputs shifted by one token."""
        positions = numbers[:, None] * self.context + np.arange(self.context + 1)
        rows = torch.from_numpy(self.tokens[positions].astype(np.int64))
        return rows[:, :-1], rows[:, 1:]


def read_sequences(
    shards: list[Path], tokenizer: Tokenizer, context: int, holdout_percent: int
) -> Sequences:
    documents = [document for shard in shards for document in read_text(shard)]
    tokens = np.concatenate([tokenizer.encode(document) for document in documents])
    count = (len(tokens) - 1) // context
    numbers = np.arange(count, dtype=np.int64)
    held_out = np.array(
        [_is_held_out(block, holdout_percent) for block in range(count // _HOLD_OUT_BLOCK + 1)],
        bool,
    )[numbers // _HOLD_OUT_BLOCK]
    return Sequences(
        tokens=tokens,
        context=context,
        training=numbers[~held_out],
        held_out=numbers[held_out],
        bytes_per_token=sum(map(len, documents)) / max(1, len(tokens)),
        fingerprint=hashlib.sha256(tokens.tobytes()).hexdigest(),
    )


def _is_held_out(block: int, percent: int) -> bool:
    """Depends on the block's number alone."""
    digest = hashlib.sha256(f"block {block}".encode()).digest()
    return int.from_bytes(digest[:4], "big") % 100 < percent
