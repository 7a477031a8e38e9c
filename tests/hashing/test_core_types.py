"""What is the same on another processor: codes from a file always, learning where BLAS has the same kernels.

OpenBLAS chooses its kernels by the processor and adds up in another order in each of them. ``OPENBLAS_CORETYPE`` makes
it choose the kernels of another processor, so that one machine can stand for several.
"""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from sthash.hashing import knn_graph
from support.core_types import LEARNED_ON, RECIPES, corpora, save_models
from support.programs import ENVIRONMENT, command

FLAGS = Path("/proc/cpuinfo").read_text().split() if Path("/proc/cpuinfo").exists() else []
CORE_TYPES = ("Prescott", "Haswell", "SkylakeX" if "avx512vl" in FLAGS else "Sandybridge")
pytestmark = pytest.mark.skipif("avx2" not in FLAGS, reason="the processor has no AVX2, so it cannot stand for others")


def run(core_type, *arguments, **environment):
    variables = ENVIRONMENT | {"OPENBLAS_CORETYPE": core_type} | environment
    subprocess.run(command("core_types", *arguments), env=variables, check=True, timeout=120)


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """Codes learned with the kernels of three processors, and on the second one with other threads and SIMD paths."""
    folder = tmp_path_factory.mktemp("learned")
    for core_type in CORE_TYPES:
        run(core_type, "learn", folder / f"{core_type}.npz", 2)
    run("Haswell", "learn", folder / "again.npz", 1, OPENBLAS_NUM_THREADS="1", STHASH_SIMD="portable")
    return {path.stem: dict(np.load(path)) for path in folder.glob("*.npz")}


def share_of_differing_bits(one, other):
    return float(np.bitwise_count(one ^ other).mean()) / 8


def test_learning_gives_the_same_codes_for_any_threads_and_simd_path(learned):
    for name, codes in learned["Haswell"].items():
        np.testing.assert_array_equal(codes, learned["again"][name], err_msg=name)


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_the_paper_learns_nearly_the_same_codes_on_every_processor(learned, kind):
    """Its eigenvectors are exact up to rounding; only a document at a median may change sides."""
    for core_type in CORE_TYPES:
        assert (
            share_of_differing_bits(learned[core_type][f"paper-{kind}"], learned["Haswell"][f"paper-{kind}"]) <= 0.001
        )


@pytest.mark.parametrize(
    "name",
    ["neighbors-sparse", "neighbors-dense", "topics-sparse", "topics-dense", "kernel_topics-dense", "auto-dense"],
)
def test_rotated_codes_are_nearly_the_same_on_every_processor(learned, name):
    for core_type in CORE_TYPES:
        assert share_of_differing_bits(learned[core_type][name], learned["Haswell"][name]) <= 0.001


def test_own_kernels_learn_the_same_on_every_processor(learned):
    for core_type in CORE_TYPES:
        np.testing.assert_array_equal(learned[core_type]["ridge-sparse"], learned["Haswell"]["ridge-sparse"])


@pytest.mark.parametrize("kind", ["sparse", "dense"])
@pytest.mark.parametrize("recipe", RECIPES)
def test_codes_that_differ_between_processors_are_equally_good(learned, recipe, kind):
    """Nobody loses by it: neighbors stay as close."""
    W = knn_graph(corpora()[kind][0], 15).tocoo()
    distances = []
    for core_type in CORE_TYPES:
        codes = learned[core_type][f"{recipe}-{kind}"][:LEARNED_ON]
        near = np.bitwise_count(codes[W.row] ^ codes[W.col]).sum(axis=1).mean()
        far = np.bitwise_count(codes[:, None] ^ codes[None]).sum(axis=2).mean()
        distances.append(near / far)
    assert max(distances) < 0.9
    assert max(distances) - min(distances) < 0.05


def test_a_file_gives_the_same_codes_on_every_processor(tmp_path):
    save_models(tmp_path)
    # NumPy has kernels for AVX-512 too, which the first two do without.
    plain = {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_SKX AVX512F"}
    for core_type, environment in zip(
        CORE_TYPES, (plain | {"STHASH_SIMD": "portable"}, plain | {"STHASH_SIMD": "avx2"}, {}), strict=True
    ):
        run(core_type, "encode", tmp_path, tmp_path / f"{core_type}.npz", 2, **environment)
    first, *others = (dict(np.load(tmp_path / f"{core_type}.npz")) for core_type in CORE_TYPES)
    assert len(first) == 2 * len(RECIPES) + 1
    for other in others:
        for name, margins in first.items():
            np.testing.assert_array_equal(margins, other[name], err_msg=name)
