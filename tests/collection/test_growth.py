"""Collections of vectors that grow: cells are learned when there are enough vectors, and again when many more."""

import numpy as np
import pytest

from sthash import Collection, VectorOptions
from sthash.collection.indexes.cells import FEW_VECTORS, GROWTH

WIDTH = 16


def made_vectors(count, seed=0):
    """Vectors in clusters, as embeddings are."""
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(99).normal(size=(40, WIDTH))
    return (centers[rng.integers(40, size=count)] + 0.5 * rng.normal(size=(count, WIDTH))).astype(np.float32)


def recall(collection, rows, queries, metric):
    """The share of the true neighbors that a search finds, and whether scores are right."""
    alive = np.array([int(document.key) for document in collection])
    own, found = rows[alive].astype(np.float64), 0
    if metric == "cosine":
        own /= np.linalg.norm(own, axis=1, keepdims=True)
        queries = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    for query, hits in zip(queries, collection.search_many(list(queries), 10), strict=True):
        scores = own @ query
        found += len({int(hit.key) for hit in hits} & set(alive[np.argsort(-scores)[:10]].tolist()))
        expected = dict(zip(alive.tolist(), scores.tolist(), strict=True))
        assert [hit.score for hit in hits] == pytest.approx(
            [expected[int(hit.key)] for hit in hits], rel=1e-3, abs=0.02
        )
    return found / min(10, len(alive)) / len(queries)


@pytest.mark.parametrize(
    ("metric", "precision"), [("cosine", "float32"), ("ip", "float32"), ("cosine", "float16"), ("cosine", "int8")]
)
def test_from_nothing_to_thousands(tmp_path, metric, precision):
    rows, queries = made_vectors(5000), made_vectors(20, seed=1)
    learned, generations = [], []
    with (
        Collection.create(
            tmp_path / "c.sth", vectors=[], vector_options=VectorOptions(metric=metric, precision=precision)
        ) as collection,
        Collection.open(tmp_path / "c.sth") as reader,
    ):
        done = 0
        for size in (1, 9, 300, 600, 89, 1, 400, 600, 1900, 99, 1, 500, 500):
            part = slice(done, done + size)
            collection.add([{"key": str(number)} for number in range(part.start, part.stop)], vectors=rows[part])
            done += size
            with collection.snapshot() as now:
                learned.append((done, now.cells.n_cells > 0))
                generations.append(now.cells._settings["generation"])
            assert recall(collection, rows, queries, metric) > (0.99 if done < FEW_VECTORS else 0.9)
            assert recall(reader, rows, queries, metric) > (0.99 if done < FEW_VECTORS else 0.9)
            if done % 3 == 0:
                gone = [str(number) for number in range(part.start, part.stop, 7)]
                collection.delete(gone)
                collection.upsert([{"key": key} for key in gone], vectors=rows[[int(key) for key in gone]])
        assert [has for count, has in learned] == [count >= FEW_VECTORS for count, _ in learned]
        assert [
            count for (count, _), a, b in zip(learned[1:], generations, generations[1:], strict=False) if b > a
        ] == [
            FEW_VECTORS,
            GROWTH * FEW_VECTORS,
        ]
        assert collection.check().documents == reader.check().documents == 5000
        collection.relearn()
        assert recall(reader, rows, queries, metric) > 0.9
        collection.delete([str(number) for number in range(4500)])
        assert recall(collection, rows, queries, metric) > 0.9
        collection.relearn()  # too few to learn from: the cells stay
        assert recall(collection, rows, queries, metric) > 0.9
        assert collection.check().documents == 500


def test_one_that_shares_a_loaded_index_sees_every_change(tmp_path):
    """The index in memory follows the file; what it answers is what a fresh one answers."""
    rng = np.random.default_rng(5)
    rows, queries = made_vectors(3000), list(made_vectors(5, seed=2))
    with Collection.create(tmp_path / "c.sth", vectors=rows[:1500]) as collection:
        next_row = 1500
        for step in range(12):
            keys = [document.key for document in collection]
            match step % 4:
                case 0:
                    collection.add(vectors=rows[next_row : next_row + 50])
                    next_row += 50
                case 1:
                    collection.delete(rng.choice(keys, 40 if step < 8 else 900, replace=False).tolist())
                case 2:
                    chosen = rng.choice(keys, 20, replace=False).tolist()
                    collection.upsert([{"key": key} for key in chosen], vectors=rows[next_row : next_row + 20])
                    next_row += 20
                case 3:
                    with pytest.raises(ValueError, match="16 values"):
                        collection.add(vectors=[*rows[next_row : next_row + 3], [1.0]])
            with Collection.open(collection.path) as fresh:
                assert fresh.search_many(queries, 20) == collection.search_many(queries, 20)
                some = {"key": keys[::3]}
                assert fresh.search_many(queries, 5, where=some) == collection.search_many(queries, 5, where=some)
        assert collection.check().documents == len(collection)


def test_a_copy_over_the_file_is_another_state(tmp_path):
    rows = made_vectors(2400)
    with (
        Collection.create(tmp_path / "a.sth", vectors=rows[:1200]) as first,
        Collection.create(tmp_path / "b.sth", vectors=rows[1200:]) as second,
    ):
        assert first.search(rows[7], 1)[0].key == "7"
        second.copy_to(first.path, overwrite=True)
        assert first.search(rows[1207], 1)[0].score == pytest.approx(1, abs=1e-5)
        assert first.search(rows[1207], 5) == second.search(rows[1207], 5)
        assert first.check().documents == 1200


@pytest.mark.parametrize("metric", ["cosine", "ip"])
@pytest.mark.parametrize("kind", ["equal", "one column", "zeros", "two directions"])
def test_vectors_that_say_little(tmp_path, metric, kind):
    rows = {
        "equal": np.ones((1200, 4)),
        "one column": np.arange(1, 1201)[:, None],
        "zeros": np.zeros((1200, 4)),
        "two directions": np.repeat(np.eye(4)[:2], 600, axis=0),
    }[kind].astype(np.float32)
    options = VectorOptions(metric=metric)
    if kind == "zeros" and metric == "cosine":  # only an embedder may give them
        made = Collection.create(tmp_path / "c.sth", [""] * 1200, embedder=lambda texts: np.zeros((len(texts), 4)))
    else:
        made = Collection.create(tmp_path / "c.sth", vectors=rows, vector_options=options)
    with made as collection:
        assert collection.check().documents == 1200
        hits = collection.search(rows[-1], 5)
        if kind == "zeros" and metric == "cosine":
            assert hits == []
        else:
            expected = np.sort(rows @ rows[-1])[::-1][:5] if metric == "ip" else np.ones(5)
            assert [hit.score for hit in hits] == pytest.approx(expected, rel=1e-5)
        collection.delete(["0", "1199"])
        collection.relearn()
        assert collection.check().documents == 1198
