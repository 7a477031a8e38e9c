"""The corpus of the golden codes; it must never change."""

import numpy as np

TOPICS = 12


def make_texts(count: int = 600) -> list[str]:
    """Texts of words from a few topics and from a common stock; no two of a topic are alike."""
    rng = np.random.default_rng(20100719)
    texts = []
    for number in range(count):
        own = rng.zipf(1.4, 25) % 300
        common = rng.zipf(1.2, 15) % 2000
        words = [f"t{number % TOPICS}w{word}" for word in own] + [f"c{word}" for word in common]
        texts.append(" ".join(rng.permutation(words)))
    return texts
