"""Self-Taught Hashing: the two stages in one estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, Self, get_args

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import check_consistent_length, column_or_1d

from sthash import codes, model_file
from sthash.arrays import Vectors
from sthash.checks import check_choice, check_positive, check_whole, resolve_threads
from sthash.codes import Bits
from sthash.hashing.binarizer import median_bits
from sthash.hashing.classifier_per_bit import ClassifierPerBit
from sthash.hashing.contrast import learn_contrast_codes
from sthash.hashing.embedding import TooFewDocumentsError, check_graph, eigenpairs_of_checked
from sthash.hashing.filtered import LARGE, degrees_of
from sthash.hashing.gaussian_svm import GaussianSVM
from sthash.hashing.graph import knn_graph
from sthash.hashing.hasher import Hasher, check_features, check_seed, learner_of, saved_seed
from sthash.hashing.kernel_hash import KernelHash
from sthash.hashing.kernel_topics import learn_kernel_codes
from sthash.hashing.linear_embedding import LinearEmbedding
from sthash.hashing.linear_hash import LinearHash
from sthash.hashing.neighbors import balanced_bits, neighbor_places
from sthash.hashing.nystrom import NystromExtension
from sthash.hashing.stages import (
    Binarizer,
    Embedding,
    EmbeddingExtension,
    Graph,
    HashFunction,
    StageClock,
    SupervisedGraph,
    VectorEmbedding,
    weighed,
)
from sthash.hashing.svm import LinearSVMBank
from sthash.hashing.topics import learn_topic_codes
from sthash.progress import Progress, silent
from sthash.vectors.checks import check_sample_weight
from sthash.vectors.lengths import is_sparse

Recipe = Literal["paper", "topics", "neighbors", "embeddings", "kernel_topics", "auto"]

# Stages that a recipe has of its own, so that the user cannot give them.
OWN_STAGES: dict[Recipe, tuple[str, ...]] = {
    "paper": (),
    "topics": ("embedding", "binarizer", "hash_function"),
    "neighbors": ("embedding", "binarizer"),
    "embeddings": ("embedding", "binarizer", "hash_function"),
    "kernel_topics": ("embedding", "binarizer", "hash_function"),
    "auto": ("graph", "embedding", "binarizer", "hash_function"),
}

# Recipes for dense vectors only, and what to use instead for sparse ones.
DENSE: dict[str, str] = {"embeddings": "neighbors", "kernel_topics": "topics"}

# If linear functions agree with fewer of the corpus's bits than this, they cannot tell its codes.
LEAST_AGREEMENT, AGREEMENT_ROWS = 0.8, 2000


# Tolerance of the SVMs. On 244,163 texts the larger one takes a sixth less time and finds .0006 less of the top 10.
TOLERANCE, LARGE_TOLERANCE = 0.1, 0.3

# Hash functions that a model file may hold.
SAVED_FUNCTIONS: dict[str, Any] = {
    cls.__name__: cls for cls in (LinearHash, LinearSVMBank, GaussianSVM, KernelHash, LinearEmbedding, NystromExtension)
}

SAVED_SETTINGS = {"n_bits", "n_neighbors", "recipe", "C", "random_state"}


class PredictionWarning(UserWarning):
    """Stage 2 cannot predict the codes of stage 1."""


class SelfTaughtHashing(Hasher):
    """Self-Taught Hashing (Zhang, Wang, Cai and Lu, SIGIR 2010).

    Stage 1 gives the corpus its codes without supervision: it builds the k-nearest-neighbor graph, computes its
    Laplacian eigenmap, and cuts each eigenvector at its median. Stage 2 learns to predict each bit with a linear SVM,
    so that an unseen document gets its code from ``n_bits`` dot products. Bits are ordered: the first l of them are
    the l-bit codes.

    A document without neighbors takes no part in learning; it gets its code as an unseen document does. A blank
    document, whose weights are all zero, gets the code whose bits are all off.

    Parameters
    ----------
    n_bits : int, default=64
        At most the number of documents minus two.
    n_neighbors : int, default=25
        Number of neighbors per document in the default graph.
    recipe : {"paper", "topics", "neighbors", "embeddings", "kernel_topics", "auto"}, default="paper"
        ``paper`` is the method as published. ``neighbors`` finds more of the original nearest neighbors; it has its
        own embedding and binarizer (see `sthash.hashing.neighbors`). ``topics`` repeats the framework several times
        and finds documents of the same topic (see `sthash.hashing.topics`). With it, each document of the corpus has
        about the code that it would get if it were left out of the last step, the regression. ``embeddings`` is for
        dense vectors that are compared by plain Hamming distance (see `sthash.hashing.contrast`). ``kernel_topics``
        is ``topics`` for dense vectors, with kernels instead of linear functions (see
        `sthash.hashing.kernel_topics`). ``auto`` tries all recipes that take X on held-out rows of a sample, and takes
        the one whose codes are best at finding rows of the same topic: of the same category if ``fit(X, y)`` gets
        categories, else of the same cluster of the graph (see `sthash.hashing.choice`). Only the bits of ``paper``
        have an order.
    C : float, default=1.0
        Penalty of errors in the default SVMs.
    graph : callable, SupervisedGraph or None, default=None
        Takes X and returns a sparse symmetric matrix without negative entries; None takes `knn_graph`. A
        `SupervisedGraph`, such as `ClassGraph`, also gets the categories from ``fit(X, y)``. Other graphs ignore y.
    embedding : callable, VectorEmbedding or None, default=None
        Takes W and the number of dimensions and returns an array (n, n_bits); None takes `laplacian_eigenmap`. A
        `VectorEmbedding` also gets X.
    binarizer : callable or None, default=None
        Takes an array (n, n_bits) and returns booleans; None takes `median_bits`.
    hash_function : scikit-learn classifier, HashFunction, EmbeddingExtension or None, default=None
        A classifier is copied once per bit; it may be a pipeline. A `HashFunction`, such as `GaussianSVM`, gets all
        bits at once. An `EmbeddingExtension`, such as `NystromExtension` or `LinearEmbedding`, also gets the graph
        and the embedding. None takes `LinearSVMBank`.
    random_state : int, RandomState or None, default=0
        An int makes learning reproducible: the same codes in every run and for any number of threads, with the same
        versions of NumPy and SciPy, on processors for which BLAS has the same kernels. See the notes.
    threads : int or None, default=None
        None takes one per available core. The codes do not depend on it.

    Attributes
    ----------
    codes_ : array of uint8, shape (n, ceil(n_bits / 8))
        Packed codes of the corpus, from stage 1.
    embedding_ : array, shape (n, n_bits)
        The values that were binarized; zero for a document without neighbors. With ``recipe="topics"`` it has another
        width: the places that the bits were made of. Large corpora have it in single precision.
    hash_function_ : HashFunction
    n_features_in_ : int
    recipe_ : str
        The recipe that was used: ``recipe``, or what ``auto`` chose.
    recipe_scores_ : dict of str to float
        Precision of each recipe that ``auto`` tried; empty for other recipes.
    stage_seconds_ : dict of str to float
        Seconds that each stage took.

    Warns
    -----
    PredictionWarning
        If the linear functions of ``paper`` agree with less than 80 % of the bits of the corpus, as often happens with
        dense vectors of few dimensions.

    Notes
    -----
    A fitted model gives the same codes on every machine. Learning uses BLAS, which adds up in another order on another
    kind of processor. All recipes but ``embeddings`` learn the same codes there, but for less than 0.1 % of the bits,
    if there are fewer than 15,000 documents; ``embeddings``, and larger corpora, may get other codes of the same
    quality. So learn once and copy the file. To learn the same on several kinds of processors with AVX2, set the
    environment variable ``OPENBLAS_CORETYPE=Haswell`` on all of them before Python starts.

    ``fit_transform`` gives the corpus the codes that were learned for it, ``codes_``. Those of ``transform`` may
    differ, with all recipes but ``embeddings``; the tag ``transformer_tags.corpus_codes`` says so (``"learned"`` or
    ``"predicted"``). In a pipeline, ``fit(X, selftaughthashing__start=...)`` passes arguments on, and so does
    ``fit_transform``.

    References
    ----------
    D. Zhang, J. Wang, D. Cai, J. Lu. Self-Taught Hashing for Fast Similarity Search. SIGIR 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash import SelfTaughtHashing
    >>> X = np.random.default_rng(0).normal(size=(200, 16))
    >>> hasher = SelfTaughtHashing(n_bits=12, n_neighbors=10).fit(X)
    >>> hasher.codes_.shape, hasher.codes_.dtype
    ((200, 2), dtype('uint8'))
    >>> hasher.transform(X[:3]).shape
    (3, 2)
    """

    embedding_: npt.NDArray[Any]
    hash_function_: HashFunction | EmbeddingExtension
    recipe_: Recipe
    recipe_scores_: dict[str, float]
    stage_seconds_: dict[str, float]

    def __init__(
        self,
        n_bits: int = 64,
        n_neighbors: int = 25,
        *,
        recipe: Recipe = "paper",
        C: float = 1.0,
        graph: Graph | None = None,
        embedding: Embedding | VectorEmbedding | None = None,
        binarizer: Binarizer | None = None,
        hash_function: Any = None,
        random_state: int | np.random.RandomState | None = 0,
        threads: int | None = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_neighbors = n_neighbors
        self.recipe = recipe
        self.C = C
        self.graph = graph
        self.embedding = embedding
        self.binarizer = binarizer
        self.hash_function = hash_function
        self.random_state = random_state
        self.threads = threads

    def fit(
        self,
        X: Vectors,
        y: object = None,
        *,
        start: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        progress: Progress = silent,
    ) -> Self:
        """Learn the codes of a corpus and the functions that give unseen documents theirs.

        A fit that fails or is interrupted leaves the hasher as it was.

        Parameters
        ----------
        X : sparse or dense matrix of shape (n, m)
            One row per document. Its arrays may be memory-mapped: CSR parts that are float32 and int32, with sorted
            columns, are read where they are.
        y : array of shape (n,), optional
            Categories of the documents. Only a supervised graph uses them.
        start : array of shape (n, any), optional
            What is known about the documents already: an earlier ``embedding_``, or the margins of an earlier model.
            A row of zeros means that nothing is known. With the recipe ``paper``, the eigensolver for large corpora
            starts from it and takes fewer steps. The other recipes take few steps anyway and do not use it.
        sample_weight : array of shape (n,), optional
            How much each document counts, for the recipe ``paper``: in the medians, and in the errors of the hash
            functions. A document of weight 2 counts there as two; one of weight 0 has a place in the graph and gets
            a code, but decides nothing. Stages of your own need the parameter, too.
        progress : callable, optional
            Called with the name of the stage (graph, embedding, bits, hash functions; for ``topics`` and
            ``kernel_topics``: graph, topics; for ``embeddings``: graph, codes; for ``auto`` first choice), how much of
            it is done, and of how much (None if not known).
        """
        with learner_of(self) as learner:
            learner._fit(X, y, start, sample_weight, progress)
        return self

    def _fit(
        self,
        X: Vectors,
        y: object,
        start: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        progress: Progress = silent,
    ) -> None:
        check_choice("recipe", self.recipe, get_args(Recipe))
        own = OWN_STAGES[self.recipe]
        if any(getattr(self, stage) is not None for stage in own):
            raise ValueError(
                f"recipe={self.recipe!r} has its own {', '.join(own)}. Leave those None, or use recipe='paper'."
            )
        X = self._check(X, reset=True)
        if is_sparse(X) and self.recipe in DENSE:
            raise ValueError(
                f"recipe={self.recipe!r} takes dense vectors, got a sparse matrix. Use recipe={DENSE[self.recipe]!r}."
            )
        n = X.shape[0]
        check_whole("n_bits", self.n_bits)
        if self.n_bits > n - 2:
            raise TooFewDocumentsError(
                f"n_bits={self.n_bits} needs at least {self.n_bits + 2} documents, got n_samples = {n}. "
                "Ask for fewer bits or bring more documents."
            )
        self._check_corpus(X)
        weights = check_sample_weight(sample_weight, n)
        if weights is not None and self.recipe != "paper":
            raise ValueError(f"recipe={self.recipe!r} takes no sample_weight. Leave it out, or use recipe='paper'.")
        if self.recipe == "auto":
            self._fit_chosen(X, y, start, progress)
            return
        self.recipe_, self.recipe_scores_ = self.recipe, {}
        known = None if start is None else _checked_start(start, n)
        clock = StageClock(progress)
        W = clock.run("graph", self._build_graph, X, y, partial(progress, "graph"))
        joined = degrees_of(W) > 0
        if "hash_function" in own:
            self._fit_at_once(X, W, joined, clock, progress)
            return
        embed, binarize = self._stage_1_steps(X, known, partial(progress, "embedding"))
        embedding = clock.run("embedding", embed, W, self.n_bits)
        embedding = _checked_stage("embedding", embedding, (n, self.n_bits))
        if embedding.dtype != np.float32:
            embedding = embedding.astype(np.float64, copy=False)
        everyone = bool(joined.all())
        counted = None if weights is None else weights[joined]
        binarize = weighed("binarizer", binarize, counted)
        bits = clock.run("binarizer", binarize, embedding if everyone else embedding[joined])
        bits = _checked_stage("binarizer", bits, (int(joined.sum()), self.n_bits)).astype(bool, copy=False)
        function = self._new_hash_function(n)
        rows = X if everyone else X[joined]
        if isinstance(function, EmbeddingExtension):
            extend = weighed("hash_function", function.extend, counted)
            clock.run("hash_function", extend, rows, W[joined][:, joined], embedding[joined], bits)
        else:
            del W
            learn = weighed("hash_function", function.fit, counted)
            if isinstance(function, LinearSVMBank):
                learn = partial(learn, report=partial(progress, "hash functions"))
            clock.run("hash_function", learn, rows, bits)
            if self.recipe == "paper" and isinstance(function, LinearSVMBank):
                self._warn_if_unpredictable(function, rows, bits)
        self._keep(X, joined, bits, embedding, function, clock)

    def _fit_chosen(self, X: Vectors, y: object, start: npt.ArrayLike | None, progress: Progress) -> None:
        """Try recipes on held-out rows, and learn from all rows by the best one."""
        from sthash.hashing.choice import recipe_scores

        labels = None if y is None else column_or_1d(y)
        if labels is not None:
            check_consistent_length(X, labels)
        scores = recipe_scores(self, X, labels, partial(progress, "choice"))
        chosen: Any = max(scores, key=scores.__getitem__)
        best = clone(self).set_params(recipe=chosen).fit(X, start=start, progress=progress)
        learned = {name: value for name, value in vars(best).items() if name.endswith("_")}
        self.__dict__.update(learned | {"recipe_scores_": scores})

    def _warn_if_unpredictable(self, function: LinearSVMBank, rows: Vectors, bits: Bits) -> None:
        some = np.linspace(0, len(bits) - 1, min(len(bits), AGREEMENT_ROWS)).astype(np.int64)
        agreement = float(((function.decision_function(rows[some]) > 0) == bits[some]).mean())
        if agreement < LEAST_AGREEMENT:
            remedy = "topics" if is_sparse(rows) else "kernel_topics"
            warnings.warn(
                f"the hash functions agree with only {agreement:.0%} of the bits of the corpus, so unseen documents "
                f"get codes far from those of similar ones. Use recipe='auto' or recipe={remedy!r}, or fewer bits.",
                PredictionWarning,
                stacklevel=5,
            )

    def _fit_at_once(
        self, X: Vectors, W: Any, joined: npt.NDArray[np.bool_], clock: StageClock, progress: Progress
    ) -> None:
        """Learn bits and hash functions in one step."""
        known, graph = (X, W) if joined.all() else (X[joined], W[joined][:, joined])
        common = known, graph, self.n_bits, self._generator(), self.threads
        if self.recipe == "topics":
            learned = clock.run("topics", learn_topic_codes, *common)
        elif self.recipe == "kernel_topics":
            learned = clock.run("topics", learn_kernel_codes, *common)
        else:
            learned = clock.run("codes", learn_contrast_codes, *common, partial(progress, "codes"))
        embedding = np.zeros((len(joined), learned.places.shape[1]), dtype=learned.places.dtype)
        embedding[joined] = learned.places
        self._keep(X, joined, learned.bits, embedding, learned.function, clock)

    def _keep(
        self,
        X: Vectors,
        joined: npt.NDArray[np.bool_],
        bits: Bits,
        embedding: npt.NDArray[np.float64],
        function: HashFunction | EmbeddingExtension,
        clock: StageClock,
    ) -> None:
        """Encode the documents without neighbors as unseen ones; keep what was learned."""
        all_bits = np.empty((len(joined), self.n_bits), dtype=bool)
        all_bits[joined] = bits
        if not joined.all():
            all_bits[~joined] = function.decision_function(X[~joined]) > 0
        self.codes_ = codes.pack(all_bits)
        self.embedding_ = embedding
        self.hash_function_ = function
        self.stage_seconds_ = clock.seconds

    def _stage_1_steps(
        self, X: Vectors, start: npt.NDArray[Any] | None, report: Callable[[int, int], None]
    ) -> tuple[Embedding, Binarizer]:
        common: dict[str, Any] = {"threads": self.threads, "report": report}
        if self.recipe == "neighbors":
            return partial(neighbor_places, rng=self._generator(), X=X, **common), balanced_bits
        if isinstance(self.embedding, VectorEmbedding):
            return partial(self.embedding.from_vectors, X), self.binarizer or median_bits
        return self.embedding or partial(_eigenmap, start=start, **common), self.binarizer or median_bits

    def _build_graph(self, X: Vectors, y: object, report: Callable[[int, int], None]) -> Any:
        if not isinstance(self.graph, SupervisedGraph):
            return self._default_graph(X, report) if self.graph is None else _checked_graph(self.graph(X), X.shape[0])
        if y is None:
            raise ValueError(
                f"graph={self.graph!r} requires y to be passed, but the target y is None. Pass the categories of "
                "the documents, fit(X, y), or use the default graph=None."
            )
        labels = column_or_1d(y)
        check_consistent_length(X, labels)
        return _checked_graph(self.graph.from_labels(X, labels), X.shape[0])

    def _default_graph(self, X: Vectors, report: Callable[[int, int], None]) -> Any:
        common: dict[str, Any] = {"random_state": self.random_state, "threads": self.threads, "report": report}
        return knn_graph(X, self.n_neighbors, **common)

    def _new_hash_function(self, n: int) -> HashFunction | EmbeddingExtension:
        if self.hash_function is None:
            tol = LARGE_TOLERANCE if n >= LARGE else TOLERANCE
            return LinearSVMBank(self.C, tol=tol, random_state=self.random_state, threads=self.threads)
        if is_classifier(self.hash_function):
            return ClassifierPerBit(self.hash_function)
        function: HashFunction | EmbeddingExtension = clone(self.hash_function, safe=False)
        return function

    def _margins(self, X: Vectors) -> npt.NDArray[Any]:
        return self.hash_function_.decision_function(X)

    def _state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        function: Any = self.hash_function_
        kind = type(function).__name__
        if SAVED_FUNCTIONS.get(kind) is not type(function):
            raise TypeError(
                f"a model whose hash function is a {kind} cannot be saved, because the file format holds arrays only. "
                f"Use the default hash_function=None or one of {', '.join(sorted(SAVED_FUNCTIONS))}."
            )
        settings = {
            "n_bits": int(self.n_bits),
            "n_neighbors": int(self.n_neighbors),
            "recipe": self.recipe,
            "C": float(self.C),
            "random_state": saved_seed(self.random_state),
        }
        own = {name: value for name, value in function.get_params(deep=False).items() if name != "threads"}
        own |= {"random_state": saved_seed(own["random_state"])} if "random_state" in own else {}
        config = {
            "settings": settings,
            "n_features": self.n_features_in_,
            "hash_function": {"kind": kind, "settings": own, "default": self.hash_function is None},
        }
        if self.recipe == "auto":
            config["chosen"] = {"recipe": self.recipe_, "scores": self.recipe_scores_}
        arrays = {f"function.{name}": array for name, array in function._arrays().items()}
        embedding = self.embedding_.astype(np.float64, copy=False)
        return config, arrays | {"codes": self.codes_, "embedding": embedding}

    @classmethod
    def _restored(cls, config: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        if set(config["settings"]) - SAVED_SETTINGS:
            raise ValueError(f"it has settings other than {', '.join(sorted(SAVED_SETTINGS))}")
        hasher = cls(**config["settings"])
        check_whole("n_bits", hasher.n_bits)
        check_whole("n_neighbors", hasher.n_neighbors)
        check_choice("recipe", hasher.recipe, get_args(Recipe))
        check_positive("C", hasher.C)
        check_seed(hasher.random_state)
        model_file.check_array(arrays, "codes", np.uint8, (None, codes.n_bytes(hasher.n_bits)))
        chosen: Any = config["chosen"] if hasher.recipe == "auto" else {"recipe": hasher.recipe, "scores": {}}
        check_choice("recipe", chosen["recipe"], tuple(OWN_STAGES))
        hasher.recipe_ = chosen["recipe"]
        hasher.recipe_scores_ = {str(name): float(value) for name, value in chosen["scores"].items()}
        width = None if hasher.recipe_ in ("topics", "kernel_topics") else hasher.n_bits
        model_file.check_array(arrays, "embedding", np.float64, (len(arrays["codes"]), width))
        stage = SAVED_FUNCTIONS[config["hash_function"]["kind"]]
        function = stage(**config["hash_function"]["settings"])
        check_seed(getattr(function, "random_state", None))
        resolve_threads(getattr(function, "threads", None))
        if hasattr(function, "_validate"):
            function._validate()
        if not config["hash_function"]["default"]:
            hasher.hash_function = clone(function)
        own = {name.removeprefix("function."): array for name, array in arrays.items() if "." in name}
        n_features = check_features(config["n_features"])
        function._set_arrays(own, n_features, hasher.n_bits)
        hasher.codes_, hasher.embedding_ = arrays["codes"], arrays["embedding"]
        hasher.hash_function_ = function
        hasher.n_features_in_ = n_features
        return hasher

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = isinstance(self.graph, SupervisedGraph)
        recipe = getattr(self, "recipe_", self.recipe)
        tags.transformer_tags.corpus_codes = "predicted" if recipe == "embeddings" else "learned"
        return tags


def _eigenmap(W: Any, n_components: int, **more: Any) -> npt.NDArray[Any]:
    return eigenpairs_of_checked(W, n_components, **more).vectors


def _checked_start(start: npt.ArrayLike, n: int) -> npt.NDArray[Any]:
    known = np.asarray(start)
    if known.ndim != 2 or len(known) != n or known.shape[1] == 0:
        raise ValueError(f"start must have one row per document, {n}, and a column, got shape {known.shape}.")
    if known.dtype.kind not in "fiub" or not np.isfinite(known).all():
        raise ValueError("start must hold finite numbers. Pass margins or an embedding of these documents.")
    return known


def _checked_graph(W: Any, n: int) -> Any:
    if getattr(W, "shape", None) != (n, n):
        raise ValueError(f"graph returned shape {getattr(W, 'shape', None)}, expected {(n, n)}.")
    return check_graph(W)


def _checked_stage(name: str, result: Any, shape: tuple[int, int]) -> npt.NDArray[Any]:
    array = np.asarray(result)
    if array.shape != shape:
        raise ValueError(f"{name} returned shape {array.shape}, expected {shape}.")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name} returned NaN or infinity.")
    return array
