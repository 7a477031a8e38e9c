"""Results as small JSON files, one per job. A file is written completely or not at all; a later run finds it again."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sthash.files import replacing
from sthash.reproduction.conditions import Conditions, Experiment, Method

FORMAT = 3  # 2 lacked the F1 of single queries and its errors

# The parts of the protocol that a result of each kind depends on.
DECIDING = {
    "scores": ("radii", "neighbors", "ranking", "significance"),
    "significance": ("neighbors", "significance", "ranking"),
    "error_analysis": ("error_analysis",),
    "recipe": ("radii", "neighbors"),
    "timing": (),
    "dense": ("dense",),
    "variant": ("radii", "ranking"),
}


@dataclass(frozen=True)
class Job:
    """One thing to measure: a method, or one of its aspects, on one split of a corpus.

    ``kind`` is a key of `DECIDING`. ``method`` is the name of a method or a recipe. ``split`` is the number of the
    random split, or the seed of the learning if there is only one split.
    """

    kind: str
    dataset: str
    split: int
    method: str

    @property
    def file_name(self) -> str:
        """Name of the file that holds the result."""
        return f"{_plain(self.dataset)}.{self.split}.{self.kind}.{_plain(self.method)}.json"


def _plain(name: str) -> str:
    """Turn any name into a part of a file name; a digest distinguishes similar names."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name)
    return plain if plain == name else f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def fingerprint(job: Job, experiment: Experiment, method: Method | None, conditions: Conditions, relearn: bool) -> str:
    """Digest everything that a result depends on: the job, its conditions, the corpus and the package's version."""
    from sthash import __version__

    content = {
        "format": FORMAT,
        "version": __version__,
        "job": asdict(job),
        "method": None if method is None else _settings(method) | {"source": _source(method)},
        "against": conditions.methods.get("sth") if job.kind == "significance" else None,
        "corpus": experiment.stamp(),
        "lengths": conditions.protocol["lengths"],
        "protocol": {key: conditions.protocol.get(key) for key in DECIDING[job.kind]},
        "variants": [conditions.variants[name] for name in ("lengths", "wanted")] if job.kind == "variant" else None,
        "recipes": _without_targets(conditions) if job.kind in ("recipe", "timing") else None,
        "relearn": relearn,
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:32]


def _settings(method: Method) -> dict[str, Any]:
    """What a method is; on which rows it runs by default changes no result."""
    return {name: value for name, value in asdict(method).items() if name != "takes"}


def _source(method: Method) -> str | None:
    """Digest the source file of a user's own method; the version stands for the source of the others."""
    if not method.own:
        return None
    from sthash.reproduction.estimators import find_class

    try:
        source = inspect.getsourcefile(find_class(method.estimator))
    except TypeError:  # a class without a source file
        source = None
    return hashlib.sha256(Path(source).read_bytes()).hexdigest() if source else None


def _without_targets(conditions: Conditions) -> dict[str, Any]:
    return {name: value for name, value in conditions.recipes.items() if name != "targets"}


class Results:
    """The folder of results.

    Examples
    --------
    >>> import tempfile
    >>> from sthash.reproduction.results import Job, Results
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = Results(folder)
    ...     job = Job("scores", "news", 0, "sth")
    ...     results.write(job, "f00d", {"f1": 0.5})
    ...     results.read(job, "f00d"), results.read(job, "other")
    ({'f1': 0.5}, None)
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def read(self, job: Job, mark: str) -> dict[str, Any] | None:
        """Give a result, if it is there and was made under the same conditions."""
        try:
            content = json.loads((self.folder / job.file_name).read_text(encoding="utf-8"))
            return dict(content["result"]) if content["fingerprint"] == mark else None
        except (OSError, ValueError, KeyError, TypeError):
            return None  # missing or damaged: it is measured again

    def write(self, job: Job, mark: str, result: dict[str, Any]) -> None:
        """Keep a result."""
        content = {"fingerprint": mark, "job": asdict(job), "result": result}
        with replacing(self.folder / job.file_name) as temporary:
            temporary.write_text(json.dumps(content) + "\n", encoding="utf-8")
