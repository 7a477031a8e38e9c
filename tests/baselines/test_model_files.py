"""Model files of the baselines whose parts do not fit are refused, not run."""

from __future__ import annotations

import numpy as np
import pytest

import sthash
from sthash import baselines, model_file

HASHERS = {
    "AnchorGraphHashing": baselines.AnchorGraphHashing(8, n_anchors=20),
    "BinarizedLSI": baselines.BinarizedLSI(8),
    "BoostedSSC": baselines.BoostedSSC(8, n_neighbors=5),
    "ForgivingHashing": baselines.ForgivingHashing(8, n_neighbors=5),
    "IterativeQuantization": baselines.IterativeQuantization(8),
    "LaplacianCoHashing": baselines.LaplacianCoHashing(8),
    "RandomHyperplaneHashing": baselines.RandomHyperplaneHashing(8, width=1.0),
    "SpectralHashing": baselines.SpectralHashing(8),
    "StackedRBMHashing": baselines.StackedRBMHashing(8, hidden_units=(9,), pretrain_epochs=1, finetune_epochs=1),
}
# They tell of the learning and are not used; any number of them will do.
REPORTS = {"codes_", "cross_entropies_", "losses_", "reconstruction_errors_"}


def saved(name):
    X = np.random.default_rng(0).poisson(1.0, size=(60, 15)).astype(np.float32)
    return HASHERS[name].fit(X)._state()


@pytest.mark.parametrize("name", HASHERS)
def test_every_baseline_may_be_loaded(name):
    assert set(HASHERS) == set(baselines.__all__)
    assert model_file.KINDS[name].startswith("sthash.baselines.")


@pytest.mark.parametrize("name", HASHERS)
def test_missing_shortened_and_mistyped_arrays_are_refused(name, tmp_path):
    config, arrays = saved(name)
    path = tmp_path / "model"
    for victim in arrays:
        damaged = [
            {other: array for other, array in arrays.items() if other != victim},
            arrays | {victim: arrays[victim].astype(np.float16)},
        ]
        if victim not in REPORTS:
            damaged.append(arrays | {victim: arrays[victim][:-1]})
        for parts in damaged:
            model_file.write(path, name, config, parts)
            with pytest.raises(sthash.ModelFileError, match=f"is not a valid {name} model"):
                sthash.load(path)


@pytest.mark.parametrize(
    ("name", "victim"),
    [
        ("BoostedSSC", "features_"),
        ("ForgivingHashing", "features_"),
        ("SpectralHashing", "axis_"),
        ("StackedRBMHashing", "terms_"),
    ],
)
def test_columns_that_are_not_there_are_refused(name, victim, tmp_path):
    config, arrays = saved(name)
    model_file.write(tmp_path / "model", name, config, arrays | {victim: arrays[victim] + 1000})
    with pytest.raises(sthash.ModelFileError, match="is not a valid"):
        sthash.load(tmp_path / "model")
