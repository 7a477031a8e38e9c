"""A small corpus of three topics, and conditions that suit it."""

import json

import numpy as np
import pytest
import yaml

from sthash.reproduction.conditions import EXPERIMENTS

WORDS = {topic: [f"{topic}{number}" for number in range(40)] for topic in ("sport", "trade", "music")}
COMMON = [f"word{number}" for number in range(60)]


@pytest.fixture
def corpus(tmp_path):
    """Write 240 labeled texts."""
    rng = np.random.default_rng(0)
    path = tmp_path / "small.jsonl"
    with path.open("w") as stream:
        for number in range(240):
            topic = list(WORDS)[number % 3]
            text = " ".join([*rng.choice(WORDS[topic], 12), *rng.choice(COMMON, 8)])
            stream.write(json.dumps({"text": text, "label": topic}) + "\n")
    return path


@pytest.fixture
def experiments(tmp_path, corpus):
    """Write conditions with short codes, two methods and the small corpus."""
    folder = tmp_path / "experiments"
    folder.mkdir()
    protocol = yaml.safe_load((EXPERIMENTS / "protocol.yaml").read_text())
    protocol |= {"datasets": ["small"], "lengths": [4, 8, 16], "neighbors": 10, "ranking": 20}
    protocol["error_analysis"] |= {"lengths": [8, 16], "queries": 50, "neighbors": 10, "ranking": 20}
    protocol["dense"] |= {"dimensions": 40, "lengths": [16]}
    recipes = yaml.safe_load((EXPERIMENTS / "recipes.yaml").read_text())
    recipes |= {"seeds": [0, 1], "timed_bits": 16}
    recipes["recipes"] = {"paper": {"lengths": [16, 32], "prefix": True}, "topics": {"lengths": [16, 32]}}
    methods = {
        "sth": {"title": "STH", "estimator": "sthash:SelfTaughtHashing", "settings": {"n_neighbors": 10}},
        "lsi": {"title": "binarized LSI", "estimator": "sthash.baselines:BinarizedLSI"},
        "itq": {"title": "PCA-ITQ", "estimator": "sthash.baselines:IterativeQuantization", "lengths": "each"},
        "ssc": {"title": "SSC on LSI", "estimator": "sthash.baselines:BoostedSSC", "reduce": 20},
    }
    small = {"title": "Small", "source": "labeled", "path": str(corpus), "splits": 2, "fewer_splits": {"itq": 1}}
    for name, content in {"protocol": protocol, "methods": methods, "recipes": recipes, "small": small}.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(content))
    return folder
