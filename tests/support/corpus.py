"""A small corpus with topics, and the slow, obvious twin of a collection's search."""

import numpy as np

from sthash import Collection, Document
from sthash.collection.indexes.codes import MOST_WEIGHTED_BITS

TOPICS = {
    "cats": ["cat", "kitten", "whisker", "purr", "claw", "fur", "tail", "mouse", "milk", "paw"],
    "ships": ["ship", "sail", "harbour", "captain", "anchor", "wave", "deck", "mast", "crew", "port"],
    "stars": ["star", "planet", "orbit", "telescope", "galaxy", "comet", "moon", "light", "sky", "dust"],
    "bread": ["bread", "flour", "yeast", "oven", "crust", "dough", "bake", "loaf", "butter", "salt"],
}

QUERIES = ("kitten with claw and tail", "captain of the ship", "moon and star dust", "salt bread cat", "oven")


def make_documents(count: int, seed: int = 0, first: int = 0) -> list[Document]:
    """Documents of a few words each; the topic is the label."""
    rng = np.random.default_rng([seed, first])
    names = sorted(TOPICS)
    documents = []
    for number in range(first, first + count):
        topic = names[number % len(names)]
        words = [*rng.choice(TOPICS[topic], 6), *rng.choice([word for words in TOPICS.values() for word in words], 2)]
        documents.append(Document(f"d{number}", " ".join(words), topic, {"number": number, "parity": number % 2}))
    return documents


def as_rows(documents: list[Document]) -> list[dict[str, object]]:
    """Documents as records with other names of the fields."""
    return [{"id": d.key, "body": d.text, "topic": d.label, "number": d.metadata["number"]} for d in documents]


def twin_search(collection: Collection, text: str, k: int, factor: int, radius: int | None = None) -> list[str]:
    """Keys in the order that search must give, from plain dictionaries of weights and plain bits."""
    documents = list(collection)
    with collection.snapshot() as now:
        encoded = now.encode([text, *(document.text for document in documents)])
    rows = [
        dict(zip(*(part.tolist() for part in encoded.rows.row(place)), strict=True)) for place in range(len(encoded))
    ]
    distances = [int(np.bitwise_count(encoded.codes[0] ^ code).sum()) for code in encoded.codes[1:]]
    k = min(k, len(documents))
    if radius is None:
        if collection.n_bits <= MOST_WEIGHTED_BITS:
            distances = weighted_distances(encoded.codes[1:], encoded.codes[0], encoded.margins[0]).tolist()
        radius = sorted(distances)[min(k * factor, len(distances)) - 1]
    ranked = []
    for place, (document, row, distance) in enumerate(zip(documents, rows[1:], distances, strict=True)):
        if distance <= radius:
            cosine = sum(weight * rows[0].get(column, 0.0) for column, weight in row.items())
            if cosine > 0:
                ranked.append((-round(cosine, 5), place, document.key))
    return [key for _, _, key in sorted(ranked)[:k]]


def weighted_distances(codes, code, margins):
    """Sums over the bits that differ of margins as whole numbers, about 223 for the heaviest 64 bits together."""
    padded = np.pad(np.abs(margins), (0, -len(margins) % 64))
    heaviest = max(np.add.accumulate(word)[-1] for word in padded.reshape(-1, 64))
    whole = np.floor(padded / heaviest * np.float32(223) + np.float32(0.5)).astype(int)
    differ = np.unpackbits(codes ^ code, axis=1, bitorder="little")
    return differ[:, : len(margins)] @ whole[: len(margins)]


def found(collection: Collection, text: str, k: int, **options: object) -> list[str]:
    """Keys that a search by cosines gives, in its order but with ties, to five digits, by the order of arrival."""
    order = {document.key: place for place, document in enumerate(collection)}
    hits = collection.search(text, k, ranking="cosine", **options)
    return [hit.key for hit in sorted(hits, key=lambda hit: (-round(hit.score, 5), order[hit.key]))]
