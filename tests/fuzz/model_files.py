"""Model files with right checksums, whose settings and arrays were changed; and headers that are none.

Every kind of file comes as often as any other; outcomes are counted by kind.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import scipy.sparse as sp
from safetensors.numpy import save_file

import sthash
from fuzz import mutations
from sthash import (
    Deduplicator,
    EmbeddingQuantizer,
    SelfTaughtHashing,
    TextModel,
    TextVectorizer,
    VectorIndex,
    VectorModel,
    WordIndex,
    model_file,
)
from sthash.hashing import GaussianSVM, LinearEmbedding, NystromExtension
from support.factories import build_text_model, build_vector_model
from support.golden import make_texts

GOLDEN = Path(__file__).parents[1] / "golden" / "models"
# Loading: ModelFileError alone, which is a ValueError. A model that was loaded may still refuse to be used.
DOCUMENTED = (ValueError,)
MOST_COLUMNS = 10_000


def prepare(folder: Path) -> None:
    """Save models of every kind, and an index of words; golden ones are copied."""
    texts = make_texts(80)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 6)).astype(np.float32)
    vectorizer = TextVectorizer().fit(texts)
    vectorizer.save(folder / "vectorizer")
    build_text_model(texts, recipe="paper", scatter=1.0).save(folder / "text_model")
    build_vector_model(rows, recipe="paper").save(folder / "vector_model")
    index = WordIndex.build(texts, rng.permutation(200)[: len(texts)])
    index.remove(index.ids[:3])
    index.save(folder / "word_index-some")
    WordIndex().save(folder / "word_index-empty")
    for function in (None, GaussianSVM(), LinearEmbedding(), NystromExtension(5)):
        hasher = SelfTaughtHashing(8, 5, hash_function=function)
        hasher.fit(rows).save(folder / f"dense-{type(function).__name__}")
        hasher.fit(sp.csr_array(np.maximum(rows, 0))).save(folder / f"sparse-{type(function).__name__}")
    for metric, precision in (("cosine", "float32"), ("cosine", "float16"), ("ip", "int8")):
        index = VectorIndex.build(rows, metric=metric, precision=precision, n_bytes=2, n_cells=4)
        index.save(folder / f"vector_index-{precision}")
    index = VectorIndex.build(rows, n_bytes=4)
    index.add(rows[:9], rng.permutation(10**6)[:9] + 100)
    index.remove(index.ids[::3])
    index.save(folder / "vector_index-own")
    for n_bytes in (2, 9):
        EmbeddingQuantizer(n_bytes, random_state=0).fit(rows).save(folder / f"quantizer-{n_bytes}")
    for measure in ("wording", "jaccard", "containment"):
        known = Deduplicator(measure=measure, protect="numbers" if measure == "wording" else None)
        known.add([*texts, *texts[:5]])
        known.save(folder / f"deduplicator-{measure}")
    known = Deduplicator(measure="cosine")
    known.add(vectors=np.concatenate([rows, rows[:5]]))
    known.save(folder / "deduplicator-cosine")
    for golden in GOLDEN.glob("*.safetensors"):
        shutil.copy(golden, folder / f"golden-{golden.name}")


def case(random: Random, folder: Path, scratch: Path) -> str:
    """Change a model file, load it, and use it."""
    path = scratch / "model"
    by_kind: dict[str, list[Path]] = {}
    for file in mutations.seeds(folder):
        by_kind.setdefault(file.name.partition("-")[0], []).append(file)
    kind = random.choice([*by_kind])
    shutil.copyfile(random.choice(by_kind[kind]), path)
    forge(random, path)
    return f"{kind}: {outcome(random, path, scratch)}"


def outcome(random: Random, path: Path, scratch: Path) -> str:
    """Load a file and use it."""
    try:
        model = sthash.load(path)
        if isinstance(model, VectorIndex) and random.random() < 0.5:
            model = VectorIndex.open(path)
    except sthash.ModelFileError:
        return "refused"
    try:
        use(model)
        model.save(scratch / "again")
    except DOCUMENTED:
        return "refused in use"
    return "used"


def forge(random: Random, path: Path) -> None:
    """Change settings, arrays, the header or bytes; the checksum fits unless bytes were changed."""
    how = random.random()
    if how < 0.1:
        path.write_bytes(mutations.content(random, path.read_bytes()))
        return
    header, arrays = model_file._read(path)
    if how < 0.25:
        forge_places(random, path)
        return
    for _ in range(random.choice((1, 1, 2, 4))):
        if random.random() < 0.5:
            header = {**header, "config": mutations.json_value(random, header["config"])}
        elif arrays:
            name = random.choice(sorted(arrays))
            if name == "terms" and arrays[name].dtype == np.uint8:
                changed = np.frombuffer(mutations.json_bytes(random, arrays[name].tobytes()), dtype=np.uint8)
            else:
                changed = mutations.array(random, arrays[name])
            arrays = {**arrays, name: changed}
            if random.random() < 0.05:
                del arrays[name]
    try:
        text = json.dumps(header, sort_keys=True)
        arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        save_file(arrays, path, {"sthash": model_file._signed(text, arrays)})
    except (ValueError, UnicodeError):
        pass  # lone surrogates: the library does not write them


def forge_places(random: Random, path: Path) -> None:
    """Change what the header says of the arrays: names, types, shapes, places."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    parts: Any = mutations.json_value(random, json.loads(content[8 : 8 + length]))
    text = json.dumps(parts).encode()
    stated = len(text) if random.random() < 0.9 else random.choice(mutations.EDGES) % 2**64
    path.write_bytes(stated.to_bytes(8, "little") + text + content[8 + length :])


def use_words(index: WordIndex) -> None:
    """Search, add and remove."""
    texts = make_texts(4)
    ids, scores = index.search(texts, 5, threads=1)
    assert ((ids >= 0) == (scores > 0)).all()
    index.search(texts, 3, allowed=index.ids[::2])
    index.add(texts)
    index.remove(index.ids[:10])
    index.search(texts[0], 100)
    assert index.stats.size == len(index)


def use(model: Any) -> None:
    """Encode a few documents, or search and change an index."""
    if isinstance(model, WordIndex):
        use_words(model)
        return
    if isinstance(model, TextModel | TextVectorizer):
        texts = [*make_texts(3), "", "t1w1 " * 50]
        if isinstance(model, TextVectorizer):
            model.transform(texts)
            model.analyze(texts[0])
        else:
            model.encode(texts)
            assert isinstance(model.fingerprint, str)
        return
    if isinstance(model, VectorIndex):
        use_vectors(model)
        return
    if isinstance(model, Deduplicator):
        use_deduplicator(model)
        return
    columns = model.n_columns if isinstance(model, VectorModel) else model.n_features_in_
    if columns > MOST_COLUMNS:
        return
    rows = np.random.default_rng(0).random((3, columns)).astype(np.float32)
    if isinstance(model, VectorModel):
        model.encode(rows)
    elif isinstance(model, EmbeddingQuantizer):
        model.scores(rows, model.transform(rows))
    else:
        model.transform(rows)
        model.transform(sp.csr_array(rows))


def use_deduplicator(known: Deduplicator) -> None:
    """Add texts of which some are known."""
    before = len(known)
    if known.measure == "cosine":
        verdicts = known.add(vectors=np.random.default_rng(0).random((6, 6)).astype(np.float32))
    else:
        verdicts = known.add([*make_texts(4), "a text that nobody has seen before, of more than five words", ""])
    assert len(verdicts) == 6
    assert len(known) == before + sum(verdict.is_new for verdict in verdicts)


def use_vectors(index: VectorIndex) -> None:
    """Search, and change."""
    held, width = index.ids, index.coder.n_features
    if width > MOST_COLUMNS:
        return
    rows = np.random.default_rng(0).random((3, width)).astype(np.float32)
    for options in ({}, {"exact": True}, {"allowed": held[::2]}, {"probes": 1, "candidates": 1}, {"k": 500}):
        index.search(rows, **options)
    index.vectors(held[:2])
    index.remove(held[: len(held) // 2])
    index.add(rows)
    assert index.stats.size == len(index)
