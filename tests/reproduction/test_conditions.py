"""The conditions: what is wrong with a file is said."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from sthash import codes
from sthash.reproduction.conditions import ConditionsError, Experiment, load_conditions, own_method
from sthash.reproduction.estimators import make


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("protocol", "lengths: [", r"protocol\.yaml cannot be read"),
        ("protocol", "[1]", r"protocol\.yaml must hold names and values, got list"),
        ("protocol", "radii: [1]", r"protocol\.yaml: neighbors is missing"),
        ("methods", "a: {title: A}", r"methods\.yaml: .*estimator"),
        ("methods", "a: {title: A, estimator: 'x:Y', lengths: some}", "lengths of a must be prefix, each"),
        ("methods", "a: {title: A, estimator: 'x:Y', lengths: [4, 8]}", r"lengths of a need \[16\]"),
        ("methods", "a: {title: A, estimator: 'x:Y', lengths: [16, 8]}", "or increasing code lengths"),
        ("methods", "a: {title: A, estimator: 'x:Y', rows: words}", "rows of a must be tfidf or counts"),
        ("variants", "lengths: [16]\nwanted: [5]", "groups is missing"),
        ("small", "{title: Small, source: moon}", "source='moon' is not known. Use one of: reuters21578_counts"),
        ("small", "{title: Small, source: labeled}", "source: labeled needs a path"),
        ("small", "{title: Small, source: tdt2, color: red}", r"small\.yaml: .*color"),
    ],
)
def test_bad_conditions_are_named(experiments, file, content, message):
    (experiments / f"{file}.yaml").write_text(content)
    with pytest.raises(ConditionsError, match=message):
        load_conditions(experiments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lengths": [8, 4]}, "must be positive and increasing"),
        ({"radii": [-1]}, "must not be negative"),
        ({"curve_radius": 9}, "curve_radius=9 must be one of the radii"),
        ({"significance": {"bits": 5, "radius": 1, "level": 0.1}}, "bits=5 of significance must be one of the lengths"),
    ],
)
def test_a_protocol_that_contradicts_itself_is_refused(experiments, change, message):
    protocol = yaml.safe_load((experiments / "protocol.yaml").read_text())
    (experiments / "protocol.yaml").write_text(yaml.safe_dump(protocol | change))
    with pytest.raises(ConditionsError, match=message):
        load_conditions(experiments)


def test_missing_conditions_are_named(tmp_path):
    with pytest.raises(ConditionsError, match="is not a folder"):
        load_conditions(tmp_path / "absent")
    with pytest.raises(ConditionsError, match=r"has no protocol\.yaml. Copy the one in"):
        load_conditions(tmp_path)


def test_splits_of_slow_methods():
    experiment = Experiment("x", "X", "tdt2", splits=2, fewer_splits={"slow": 1, "eager": 9})
    assert [experiment.splits_of(name) for name in ("slow", "eager", "other")] == [1, 2, 2]


@pytest.mark.parametrize("name", [name for name, one in load_conditions().methods.items() if one.lengths == "prefix"])
def test_a_prefix_is_what_a_shorter_code_would_be(name):
    X = np.random.default_rng(0).random((300, 40), dtype=np.float32)
    method = load_conditions().methods[name]
    long, short = (make(method, n_bits).fit(X) for n_bits in (16, 8))
    np.testing.assert_array_equal(codes.prefix(long.codes_, 8), short.codes_)
    np.testing.assert_array_equal(codes.prefix(long.transform(X[:50]), 8), short.transform(X[:50]))


def test_every_other_method_learns_each_length():
    methods = load_conditions().methods
    assert [name for name, one in methods.items() if one.lengths == "prefix"] == ["sth", "lsi", "lch", "lsh", "lsht"]
    assert own_method("mine:Signs").lengths == "each"
