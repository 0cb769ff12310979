"""Makes text from a seed: `python make_text.py FOLDER [--shards 4] [--stories 400]`.

The program combines the words below; its text is in the public domain. A small model can learn the
words, the grammar, and that a story keeps to one thing and one place.
"""

import argparse
import random
from pathlib import Path

WHO = ("the miller", "the ferryman", "a weaver", "the lighthouse keeper", "a young potter")
PLACES = ("the harbour", "the old bridge", "the mill", "the orchard", "the salt market")
THINGS = ("a copper lamp", "a basket of pears", "a blue kite", "a box of nails", "a grey horse")
WEATHER = ("rain", "fog", "a light wind", "snow", "warm sun")
VERBS = ("carried", "sold", "lost", "mended", "hid", "found")
TIMES = ("in the morning", "at noon", "before the tide", "after dark", "when the bells rang")


def story(random_: random.Random) -> str:
    """A few sentences about one person, one thing and two places."""
    who, thing = random_.choice(WHO), random_.choice(THINGS)
    here, there = random_.sample(PLACES, 2)
    number = random_.randint(2, 40)
    name = who.split()[-1]
    thing_again = thing.replace("a ", "the ", 1)
    return " ".join(
        [
            f"There was {random_.choice(WEATHER)} over {here}.",
            f"{who.capitalize()} {random_.choice(VERBS)} {thing} {random_.choice(TIMES)}.",
            f"From {here} to {there} it is {number} steps, and back again {number} steps.",
            f"{who.capitalize()} went to {there} with {thing_again}.",
            f'"Whose is {thing_again}?" they asked at {there}.',
            f'"It is mine," said {who}, and the {name} went home {random_.choice(TIMES)}.\n',
        ]
    )


def make(folder: Path, *, shards: int, stories: int, seed: int = 17) -> None:
    """Writes `shards` text files of `stories` stories each."""
    folder.mkdir(parents=True, exist_ok=True)
    random_ = random.Random(seed)
    for shard in range(shards):
        text = "\n".join(story(random_) for _ in range(stories))
        (folder / f"{shard:06d}.txt").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--stories", type=int, default=400)
    parser.add_argument("--seed", type=int, default=17)
    arguments = parser.parse_args()
    make(arguments.folder, shards=arguments.shards, stories=arguments.stories, seed=arguments.seed)
