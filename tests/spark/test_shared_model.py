"""The model in a Python worker of Spark: what it takes there."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from support.components import require
from support.factories import build_text_model, random_texts
from support.programs import ENVIRONMENT

require("PySpark", "PyArrow")

from sthash.spark.model_bytes import SharedModel

MEASURE = """
import gc, pickle, sys
import sthash.spark.model_bytes
def memory():
    gc.collect()
    lines = open("/proc/self/status").read().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))
with open(sys.argv[1], "rb") as small:  # what is imported, and other things that do not grow with the model
    pickle.load(small).encode(["one text"])
before = memory()
with open(sys.argv[2], "rb") as file:
    model = pickle.load(file)
model.encode(["one text"])
print(memory() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_worker_keeps_the_model_alone(tmp_path):
    """At most twice the size of its file: not the bytes that it came as, too."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{number}x" for number in range(40_000)])
    large = [" ".join(words[rng.integers(0, len(words), 250)]) for _ in range(600)]
    for name, texts, bits in (("small", random_texts(60, 8), 8), ("large", large, 64)):
        (tmp_path / name).write_bytes(pickle.dumps(SharedModel(build_text_model(texts, n_bits=bits, n_neighbors=5))))
    size = (tmp_path / "large").stat().st_size
    command = [sys.executable, "-c", MEASURE, tmp_path / "small", tmp_path / "large"]
    taken = int(subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True).stdout)
    assert size > 5e6
    assert 0.3 * size < taken < 2 * size
