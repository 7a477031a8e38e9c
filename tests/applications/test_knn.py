"""The classifier by votes in the Hamming ball."""

import numpy as np
import pytest

from sthash import KNNHashClassifier, SelfTaughtHashing


@pytest.mark.parametrize("bad", ["labels", "rows", "hasher", "voting"])
def test_a_failing_fit_changes_nothing(bad):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 6)), np.arange(40) % 2
    classifier = KNNHashClassifier(SelfTaughtHashing(8, n_neighbors=5)).fit(X, y)
    if bad == "hasher":
        classifier.hasher = SelfTaughtHashing(80)
    if bad == "voting":
        classifier.voting = "loud"
    held = dict(classifier.__dict__)
    rows = np.where(np.arange(40)[:, None] == 3, np.nan, X[:, :4]) if bad == "rows" else X[:, :4]
    labels = y + 0.5 * rng.random(40) if bad == "labels" else y
    with pytest.raises(ValueError, match=r"NaN|continuous|n_bits=80|loud"):
        classifier.fit(rows, labels)
    assert classifier.__dict__.keys() == held.keys()
    assert all(classifier.__dict__[name] is value for name, value in held.items())
    assert len(classifier.predict(X)) == 40
