"""Model files with right checksums, whose settings and arrays were changed; and headers that are none."""

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
from sthash import SelfTaughtHashing, TextModel, TextVectorizer, VectorModel, model_file
from sthash.hashing import GaussianSVM, LinearEmbedding, NystromExtension
from support.golden import make_texts

GOLDEN = Path(__file__).parents[1] / "golden" / "models"
# Loading: ModelFileError alone, which is a ValueError. A model that was loaded may still refuse to be used.
DOCUMENTED = (ValueError,)
MOST_COLUMNS = 10_000


def prepare(folder: Path) -> None:
    """Save models of every kind; those of earlier versions are copied."""
    texts = make_texts(80)
    rows = np.random.default_rng(0).normal(size=(60, 6)).astype(np.float32)
    vectorizer = TextVectorizer().fit(texts)
    vectorizer.save(folder / "vectorizer")
    TextModel.fit(texts, 8, 5, recipe="paper", scatter=1.0).save(folder / "text_model")
    VectorModel.fit(rows, 8, 5, recipe="paper").save(folder / "vector_model")
    for function in (None, GaussianSVM(), LinearEmbedding(), NystromExtension(5)):
        hasher = SelfTaughtHashing(8, 5, hash_function=function)
        hasher.fit(rows).save(folder / f"dense-{type(function).__name__}")
        hasher.fit(sp.csr_array(np.maximum(rows, 0))).save(folder / f"sparse-{type(function).__name__}")
    for golden in GOLDEN.glob("*.safetensors"):
        shutil.copy(golden, folder)


def case(random: Random, folder: Path, scratch: Path) -> str:
    """Change a model file, load it, and use it."""
    path = scratch / "model"
    shutil.copyfile(random.choice(sorted(folder.iterdir())), path)
    forge(random, path)
    try:
        model = sthash.load(path)
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


def use(model: Any) -> None:
    """Encode a few documents."""
    if isinstance(model, TextModel | TextVectorizer):
        texts = [*make_texts(3), "", "t1w1 " * 50]
        if isinstance(model, TextVectorizer):
            model.transform(texts)
            model.analyze(texts[0])
        else:
            model.encode(texts)
            assert isinstance(model.fingerprint, str)
        return
    columns = model.n_columns if isinstance(model, VectorModel) else model.n_features_in_
    if columns > MOST_COLUMNS:
        return
    rows = np.random.default_rng(0).random((3, columns)).astype(np.float32)
    if isinstance(model, VectorModel):
        model.encode(rows)
    else:
        model.transform(rows)
        model.transform(sp.csr_array(rows))
