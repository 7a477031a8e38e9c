"""The conditions of the experiments: they are data, not code.

A folder of YAML files states how codes are scored (``protocol.yaml``), which methods are compared (``methods.yaml``),
which scores better codes must reach (``recipes.yaml``), and on which corpora (one file per corpus). The conditions of
the paper come with the package. `load_conditions` reads them, or another folder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from sthash.extras import install_command
from sthash.reproduction.datasets import DatasetError

EXPERIMENTS = Path(__file__).with_name("experiments")
SOURCES = ("reuters21578_counts", "reuters21578", "20newsgroups", "tdt2", "cifar10_hog", "labeled", "vectors")
OWN_FILES, DENSE_SOURCES = ("labeled", "vectors"), ("cifar10_hog", "vectors")
_OTHERS = ("protocol", "methods", "recipes", "variants")
RowKind = Literal["tfidf", "counts"]
Taken = Literal["any", "sparse", "dense"]


class ConditionsError(ValueError):
    """A file of conditions is missing, damaged, or asks for something unknown."""


@dataclass(frozen=True)
class Method:
    """A hasher to be compared.

    Attributes
    ----------
    name : str
        Name in the command.
    title : str
        Name in the report.
    estimator : str
        Import path ``package.module:Class`` of a class that takes ``n_bits`` and `settings`.
    lengths : {"prefix", "each"} or sequence of int
        Whether shorter codes are the first bits of the longest one, or are learned separately. ``prefix`` is for
        methods whose definition makes both the same. Numbers are the only lengths of a slow method, each learned
        separately; some of them may be longer than those of the protocol.
    rows : {"tfidf", "counts"}
        What the method gets: unit rows of TF-IDF, or the counts of the terms.
    reduce : int or None
        Dimensions to which a truncated SVD reduces the vectors first.
    own : bool
        Whether it was given by its import path on the command line.
    ours : bool
        Whether it is a recipe of this package that the paper does not have.
    takes : {"any", "sparse", "dense"}
        Rows that it is made for. On others it is measured only if somebody names it.
    """

    name: str
    title: str
    estimator: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    lengths: str | Sequence[int] = "each"
    rows: RowKind = "tfidf"
    reduce: int | None = None
    own: bool = False
    ours: bool = False
    takes: Taken = "any"

    def suits(self, *, dense: bool) -> bool:
        """Whether it is made for such rows."""
        return self.takes in ("any", "dense" if dense else "sparse")

    def groups(self, lengths: Sequence[int], *, relearn: bool = False) -> list[list[int]]:
        """Group code lengths: those of one group are prefixes of its longest code, which is learned.

        Examples
        --------
        >>> from sthash.reproduction.conditions import Method
        >>> Method("a", "A", "x:A", lengths="prefix").groups([8, 16]), Method("b", "B", "x:B").groups([8, 16])
        ([[8, 16]], [[8], [16]])
        >>> Method("c", "C", "x:C", lengths=[16, 128]).groups([8, 16])
        [[16], [128]]
        """
        if self.lengths == "prefix" and not relearn:
            return [list(lengths)]
        return [[n] for n in (lengths if isinstance(self.lengths, str) else self.lengths)]


@dataclass(frozen=True)
class Experiment:
    """A corpus, how it is split, and what is known of it.

    ``digest`` is the `content_digest` of its texts, counts or vectors and its labels, which the files must have.
    ``ours`` marks a corpus that the paper does not have, of which its claims say nothing. ``last`` is for files of
    vectors: so many rows at the end are the queries.
    """

    name: str
    title: str
    source: str
    splits: int = 1
    documents: Mapping[str, int] | None = None
    fewer_splits: Mapping[str, int] = field(default_factory=dict)
    reference: Mapping[str, Any] | None = None
    expected: Sequence[Mapping[str, Any]] = ()
    path: str | None = None
    digest: str | None = None
    ours: bool = False
    last: int | None = None

    @property
    def dense(self) -> bool:
        """Whether its rows are dense vectors."""
        return self.source in DENSE_SOURCES

    def splits_of(self, method: str) -> int:
        """Number of random splits that a method runs on."""
        return min(self.splits, int(self.fewer_splits.get(method, self.splits)))

    def stamp(self) -> str:
        """Return what identifies this corpus: its counts, or a digest of its files."""
        if self.path is None:
            return f"{self.source} {self.documents}"
        path = Path(self.path)
        digest = hashlib.sha256()
        try:
            for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
                if not file.is_dir():
                    digest.update(f"{file.relative_to(path)}\n".encode() + file.read_bytes())
        except OSError as error:
            raise DatasetError(f"{path} cannot be read ({error.strerror or error}). Check the path.") from error
        return digest.hexdigest()


@dataclass(frozen=True)
class VariantGroup:
    """Choices for one stage that are compared with each other.

    With ``sweep`` they are also tabulated against the number of wanted neighbors. ``claims`` are what the paper says of
    them, each with the names of the variants that it compares.
    """

    title: str
    about: str
    variants: Sequence[Method]
    sweep: bool = False
    claims: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Conditions:
    """Everything that a folder of conditions states."""

    protocol: Mapping[str, Any]
    methods: Mapping[str, Method]
    experiments: Mapping[str, Experiment]
    recipes: Mapping[str, Any]
    variants: Mapping[str, Any] = field(default_factory=dict)

    def variant_groups(self) -> list[VariantGroup]:
        """Other choices for a stage, group by group."""
        return [
            VariantGroup(
                given["title"],
                given.get("about", ""),
                tuple(Method(name=name, title=name, **settings) for name, settings in given["variants"].items()),
                bool(given.get("sweep", False)),
                tuple(given.get("claims", ())),
            )
            for given in self.variants.get("groups", ())
        ]


def load_conditions(folder: str | Path | None = None) -> Conditions:
    """Read a folder of conditions, by default those of the paper.

    Examples
    --------
    >>> from sthash.reproduction.conditions import load_conditions
    >>> conditions = load_conditions()
    >>> conditions.experiments["tdt2"].splits, conditions.methods["sph"].title
    (10, 'SpH')
    """
    where = EXPERIMENTS if folder is None else Path(folder)
    if not where.is_dir():
        raise ConditionsError(f"--experiments {str(folder)!r} is not a folder. Name one with protocol.yaml and others.")
    read = {path.stem: _read(path) for path in sorted(where.glob("*.yaml"))}
    for name in _OTHERS[:2]:
        if name not in read:
            raise ConditionsError(f"{where} has no {name}.yaml. Copy the one in {EXPERIMENTS}.")
    with _naming(where / "protocol.yaml"):
        _check_protocol(read["protocol"])
    methods = {}
    with _naming(where / "methods.yaml"):
        for name, given in read["methods"].items():
            methods[name] = Method(name=name, **given)
            _check_method(methods[name], read["protocol"])
    experiments = {}
    for name, given in read.items():
        if name not in _OTHERS:
            with _naming(where / f"{name}.yaml"):
                experiments[name] = _experiment(name, given, where)
    conditions = Conditions(read["protocol"], methods, experiments, read.get("recipes", {}), read.get("variants", {}))
    with _naming(where / "variants.yaml"):
        _check_variants(conditions)
    return conditions


def own_dataset(path: str) -> Experiment:
    """Return the conditions of a file or folder of labeled texts, or of a file of vectors (``.npz``)."""
    source = "vectors" if Path(path).suffix == ".npz" else "labeled"
    return Experiment(name=Path(path).name, title=Path(path).name, source=source, path=path)


def own_method(estimator: str) -> Method:
    """Return the conditions of a hasher that is given by its import path."""
    return Method(estimator, estimator.rpartition(":")[2], estimator, own=True)


def _experiment(name: str, given: dict[str, Any], where: Path) -> Experiment:
    found = Experiment(name=name, **given)
    if found.source not in SOURCES:
        raise ConditionsError(f"source={found.source!r} is not known. Use one of: {', '.join(SOURCES)}.")
    if found.source in OWN_FILES:
        if found.path is None:
            raise ConditionsError(f"source: {found.source} needs a path. Name a file or a folder with labels.")
        found = Experiment(**{**vars(found), "path": str(where / found.path)})
    return found


def _check_variants(conditions: Conditions) -> None:
    if not conditions.variants:
        return
    for name in ("lengths", "wanted", "groups"):
        conditions.variants[name]
    names = [variant.name for group in conditions.variant_groups() for variant in group.variants]
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise ConditionsError(f"the variant {twice[0]!r} is there twice. Give each its own name.")
    compared = ("better", "than", "enough", "as_slow")
    for claim in (claim for group in conditions.variant_groups() for claim in group.claims):
        for name in [*(claim[key] for key in compared if key in claim), *claim.get("among", ())]:
            if name not in names:
                raise ConditionsError(f"the claim {claim['text']!r} names {name!r}, which is no variant. Correct it.")


def _check_method(method: Method, protocol: dict[str, Any]) -> None:
    if method.rows not in get_args(RowKind):
        raise ConditionsError(f"rows of {method.name} must be tfidf or counts, got {method.rows!r}.")
    if method.takes not in get_args(Taken):
        raise ConditionsError(f"takes of {method.name} must be any, sparse or dense, got {method.takes!r}.")
    if method.lengths in ("prefix", "each"):
        return
    needed = {protocol["significance"]["bits"], protocol["lengths"][-1]} | shown_lengths(protocol)
    given = method.lengths
    if isinstance(given, str) or not all(isinstance(n, int) for n in given) or sorted(set(given)) != list(given):
        raise ConditionsError(
            f"lengths of {method.name} must be prefix, each, or increasing code lengths, got {given!r}."
        )
    if missing := needed - set(given):
        raise ConditionsError(f"lengths of {method.name} need {sorted(missing)}, which the tables show.")


def shown_lengths(protocol: Mapping[str, Any]) -> set[int]:
    """Return the code lengths that tables show: 16, 32 and 64, as far as they are measured, or else the longest."""
    measured: list[int] = protocol["lengths"]
    return {16, 32, 64} & set(measured) or {measured[-1]}


def _check_protocol(protocol: dict[str, Any]) -> None:
    for name in ("neighbors", "ranking", "error_analysis", "dense", "paper", "judging"):
        protocol[name]
    lengths, radii, tested = protocol["lengths"], protocol["radii"], protocol["significance"]
    if not lengths or any(a >= b for a, b in zip([0, *lengths], lengths, strict=False)):
        raise ConditionsError(f"lengths={lengths} must be positive and increasing, such as [4, 8, 16].")
    if not radii or min(radii) < 0:
        raise ConditionsError(f"radii={radii} must not be negative.")
    if tested["bits"] not in lengths:
        raise ConditionsError(f"bits={tested['bits']} of significance must be one of the lengths {lengths}.")
    for name, radius in (("radius of significance", tested["radius"]), ("curve_radius", protocol["curve_radius"])):
        if radius not in radii:
            raise ConditionsError(f"{name}={radius} must be one of the radii {radii}.")


def _read(path: Path) -> dict[str, Any]:
    try:
        import yaml
    except ImportError as error:
        raise ImportError(
            f"the conditions of the experiments are YAML files and need PyYAML. Install it: {install_command('plot')}."
        ) from error
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConditionsError(f"{path} cannot be read ({error}). Correct the file.") from error
    if not isinstance(content, dict):
        raise ConditionsError(f"{path} must hold names and values, got {type(content).__name__}.")
    return content


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Name the file in any error that its content causes."""
    try:
        yield
    except (TypeError, AttributeError, ConditionsError) as error:
        raise ConditionsError(f"{path}: {error}") from error
    except KeyError as error:
        raise ConditionsError(f"{path}: {error.args[0]} is missing. Copy it from {EXPERIMENTS}.") from error
