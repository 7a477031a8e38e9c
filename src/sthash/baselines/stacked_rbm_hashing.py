"""Semantic hashing: stacked restricted Boltzmann machines, fine-tuned as an autoencoder.

1. *Pre-training.* A machine with hidden units h models the word counts v of a document of length N = Σ v_i by the
   constrained Poisson distribution; above it machines with binary units model the hidden probabilities of the one
   below. Each is trained by contrastive divergence with one step:

       p(h_j = 1 | v) = σ(c_j + Σ_i v_i W_ij),    E[v_i | h] = N softmax_i(b + W h)    (first layer)
                                                  p(v_i = 1 | h) = σ(b_i + W_i h)      (layers above)
       ΔW ∝ ⟨v hᵀ⟩_data − ⟨v hᵀ⟩_reconstruction

2. *Fine-tuning.* The stack is unrolled into an encoder and a decoder with tied starting weights, which then part; all
   of it is trained by back-propagation to lower the cross-entropy −Σ_i (v_i / N) log q_i of the reconstructed word
   distribution q. Gaussian noise, drawn once for each document and then kept, is added to the input of the code
   units: to carry information through it they must be nearly 0 or 1.

3. *Codes.* A bit is on where its unit's activity, without noise, is above ``threshold``.

These settings are those of the paper: the 2000 most frequent terms, the layers 2000-500-500-l, minibatches of 100,
noise of variance 16, and the threshold 0.1, which is low because units are off more often than on. The paper's learning
rates and numbers of epochs were not available. Both were chosen on held-out training documents, never on test queries:
32 bits learned from the counts of 2,000 training documents, 1,000 others as queries, the rates of the first layer and
of Adam three to ten times larger and smaller. Precision at 100 by topic, and by the 25 nearest neighbors, at the rates
0.01 and 0.001 → 0.03 and 0.0003, which were taken: Reuters .743 → .773 and .119 → .126, 20Newsgroups .207 → .222 and
.076 → .077, TDT2 .649 → .664 and .179 → .179. The threshold 0.1 was better than the median each time. More epochs (50 +
50 instead of 15 + 20, on Reuters) served neighbors and cost topics, which the method is for. The paper fine-tunes by
conjugate gradients. Here it is Adam (Kingma & Ba 2015), which needs no line searches.

*Input.* The machine needs word counts. If all entries are whole numbers, the rows are taken as counts. Other rows, such
as TF-IDF weights, are scaled to as many words as they have terms, so that a term counts one on average. The choice is
made once, on the corpus, and can be forced with ``rows``.

References
----------
R. Salakhutdinov, G. Hinton. Semantic hashing. International Journal of Approximate Reasoning 50(7), 2009.
G. Hinton. A practical guide to training restricted Boltzmann machines. Technical report, 2010.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sthash.arrays import Vectors
from sthash.baselines.baseline import Baseline, LearnedArrays
from sthash.baselines.matrices import dense, entries, sums
from sthash.baselines.rbm import RBM, Array, Descent, minibatches, sigmoid, softmax, train_rbm
from sthash.checks import check_choice, check_whole
from sthash.hashing.binarizer import median_thresholds
from sthash.hashing.linear_hash import project
from sthash.model_file import check_array

RowKind = Literal["auto", "counts", "weights"]

# Adam's own constants, and a floor for logarithms.
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


class StackedRBMHashing(Baseline):
    """Semantic hashing by stacked restricted Boltzmann machines.

    Parameters
    ----------
    n_bits : int, default=64
    hidden_units : sequence of int, default=(500, 500)
        Sizes of the layers between the terms and the code.
    max_terms : int, default=2000
        Only this many columns are used: those with the largest sum over the corpus (for counts, the most frequent
        terms). Ties are taken in the order of the columns.
    rows : {"auto", "counts", "weights"}, default="auto"
        What the rows hold; see above. ``auto`` takes whole numbers as counts.
    pretrain_epochs, finetune_epochs : int, default=15, 20
    learning_rate : float, default=0.1
        Learning rate of contrastive divergence in the binary layers.
    count_learning_rate : float, default=0.03
        The same for the first layer, where counts make the gradients large.
    finetune_rate : float, default=0.0003
        Learning rate of Adam.
    batch_size : int, default=100
    noise : float, default=4.0
        Standard deviation of the noise on the input of the code units; 0 for none.
    threshold : float or "median", default=0.1
        Activity above which a bit is on; ``median`` takes each unit's median over the corpus.
    random_state : int, RandomState or None, default=0
    threads : int or None, default=None
        None takes one per available core. The codes do not depend on it.

    Attributes
    ----------
    codes_ : array of uint8, shape (n, ceil(n_bits / 8))
    terms_ : array of int64
        Columns that are used.
    thresholds_ : array of float32, shape (n_bits,)
        Thresholds on the input of the code units.
    reconstruction_errors_ : array of float64, shape (layers, pretrain_epochs)
        Mean squared error of each machine's one-step reconstructions, per epoch.
    cross_entropies_ : array of float64, shape (finetune_epochs,)
        Cross-entropies of the reconstructed words, with noise, per epoch.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.baselines import StackedRBMHashing
    >>> X = np.random.default_rng(0).poisson(0.5, size=(100, 20))
    >>> hasher = StackedRBMHashing(n_bits=8, hidden_units=(16,), pretrain_epochs=5, finetune_epochs=5).fit(X)
    >>> bool(hasher.cross_entropies_[-1] < hasher.cross_entropies_[0])
    True
    """

    _column_numbers: ClassVar[str | None] = "terms_"
    _learned_arrays: ClassVar[LearnedArrays] = {
        "terms_": (np.int64, (None,)),
        "counted_": (np.bool_, (1,)),
        "thresholds_": (np.float32, ("l",)),
        "reconstruction_errors_": (np.float64, (None, None)),
        "cross_entropies_": (np.float64, (None,)),
    }
    _non_negative: ClassVar[bool] = True

    def __init__(
        self,
        n_bits: int = 64,
        *,
        hidden_units: Sequence[int] = (500, 500),
        max_terms: int = 2000,
        rows: RowKind = "auto",
        pretrain_epochs: int = 15,
        finetune_epochs: int = 20,
        learning_rate: float = 0.1,
        count_learning_rate: float = 0.03,
        finetune_rate: float = 0.0003,
        batch_size: int = 100,
        noise: float = 4.0,
        threshold: float | Literal["median"] = 0.1,
        random_state: int | np.random.RandomState | None = 0,
        threads: int | None = None,
    ) -> None:
        self.n_bits = n_bits
        self.hidden_units = hidden_units
        self.max_terms = max_terms
        self.rows = rows
        self.pretrain_epochs = pretrain_epochs
        self.finetune_epochs = finetune_epochs
        self.learning_rate = learning_rate
        self.count_learning_rate = count_learning_rate
        self.finetune_rate = finetune_rate
        self.batch_size = batch_size
        self.noise = noise
        self.threshold = threshold
        self.random_state = random_state
        self.threads = threads

    def _learn(self, X: Vectors) -> None:
        self._validate()
        totals = sums(X, axis=0)
        self.terms_ = np.sort(np.argsort(-totals, kind="stable")[: self.max_terms])
        weights = entries(X)
        whole = bool((weights == np.rint(weights)).all())
        self.counted_ = np.array([self.rows == "counts" or (self.rows == "auto" and whole)])
        words = self._words(X)
        rng = self._generator()
        machines = self._pretrain(words, rng)
        self._finetune(words, machines, rng)
        inputs = self._code_inputs(X)
        if self.threshold == "median":
            self.thresholds_ = median_thresholds(inputs)
        else:
            activity = float(self.threshold)
            self.thresholds_ = np.full(self.n_bits, np.log(activity / (1 - activity)), dtype=np.float32)

    def _pretrain(self, words: Vectors, rng: np.random.Generator) -> list[RBM]:
        sizes = [words.shape[1], *self.hidden_units, self.n_bits]
        machines: list[RBM] = []
        errors = []
        below: Vectors = words
        for layer, (lower, upper) in enumerate(pairwise(sizes)):
            weights = (0.01 * rng.standard_normal((lower, upper))).astype(np.float32)
            rbm = RBM(weights, np.zeros(lower, np.float32), np.zeros(upper, np.float32))
            if layer == 0:
                frequency = sums(words, axis=0) + 1
                rbm.visible[:] = np.log(frequency / frequency.sum())
            rate = self.count_learning_rate if layer == 0 else self.learning_rate
            descent = Descent(rate, self.pretrain_epochs, self.batch_size)
            errors.append(train_rbm(below, rbm, descent, rng, word_counts=layer == 0))
            below = sigmoid(project(below, rbm.weights, self.threads) + rbm.hidden)
            machines.append(rbm)
        self.reconstruction_errors_ = np.array(errors)
        return machines

    def _finetune(self, words: Vectors, machines: list[RBM], rng: np.random.Generator) -> None:
        """Unroll the machines and train all layers together; keeps the encoder."""
        n, n_layers = words.shape[0], len(machines)
        weights = [rbm.weights.copy() for rbm in machines] + [rbm.weights.T.copy() for rbm in reversed(machines)]
        biases = [rbm.hidden.copy() for rbm in machines] + [rbm.visible.copy() for rbm in reversed(machines)]
        noise = self.noise * rng.standard_normal((n, self.n_bits), dtype=np.float32)
        adam = Adam([*weights, *biases], self.finetune_rate)
        losses = []
        for _ in range(self.finetune_epochs):
            loss = 0.0
            for batch in minibatches(n, self.batch_size, rng):
                data = dense(words[batch])
                cost, gradients = autoencoder_gradients(data, weights, biases, n_layers, noise[batch])
                loss += cost
                adam.step(gradients)
            losses.append(loss / n)
        self.cross_entropies_ = np.array(losses)
        self._layers = list(zip(weights[:n_layers], biases[:n_layers], strict=True))

    def _words(self, X: Vectors) -> Vectors:
        """Rows of word counts over the chosen terms, or what stands for them."""
        words = X[:, self.terms_]
        if self.counted_[0]:
            return words
        totals = sums(words, axis=1)
        n_terms = np.diff(words.indptr) if sp.issparse(words) else np.count_nonzero(words, axis=1)
        factors = (n_terms / np.where(totals > 0, totals, 1)).astype(np.float32)
        return words * factors[:, None] if not sp.issparse(words) else sp.csr_array(words.multiply(factors[:, None]))

    def _code_inputs(self, X: Vectors) -> Array:
        values: Any = self._words(X)
        for weights, biases in self._layers[:-1]:
            values = sigmoid(project(values, weights, self.threads) + biases)
        weights, biases = self._layers[-1]
        return project(values, weights, self.threads) + biases

    def _margins(self, X: Vectors) -> npt.NDArray[Any]:
        return np.asarray(self._code_inputs(X) - self.thresholds_)

    def _validate(self) -> None:
        for name in ("max_terms", "pretrain_epochs", "finetune_epochs", "batch_size"):
            check_whole(name, getattr(self, name), 0 if name.endswith("epochs") else 1)
        for size in self.hidden_units:
            check_whole("hidden_units", size, 1)
        for name in ("learning_rate", "count_learning_rate", "finetune_rate", "noise"):
            value = getattr(self, name)
            if not isinstance(value, Real) or not 0 <= float(value) < np.inf:
                raise ValueError(f"{name}={value!r} must be a number that is not negative.")
        check_choice("rows", self.rows, ("auto", "counts", "weights"))
        if self.threshold != "median" and not (isinstance(self.threshold, Real) and 0 < self.threshold < 1):
            raise ValueError(f"threshold={self.threshold!r} must be 'median' or a number between 0 and 1.")

    def _state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        config, arrays = super()._state()
        config["settings"]["hidden_units"] = [int(size) for size in self.hidden_units]
        for layer, (weights, biases) in enumerate(self._layers):
            arrays |= {f"weights.{layer}": weights, f"biases.{layer}": biases}
        return config, arrays

    def _take_more(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        self._validate()
        self._layers = []
        for layer, (lower, upper) in enumerate(pairwise([len(self.terms_), *self.hidden_units, self.n_bits])):
            check_array(arrays, f"weights.{layer}", np.float32, (lower, upper))
            check_array(arrays, f"biases.{layer}", np.float32, (upper,))
            self._layers.append((arrays[f"weights.{layer}"], arrays[f"biases.{layer}"]))


class Adam:
    """Adaptive moment estimation over a list of arrays, changed in place."""

    def __init__(self, parts: list[Array], rate: float) -> None:
        self.parts, self.rate, self.time = parts, rate, 0
        self.means = [np.zeros_like(part) for part in parts]
        self.squares = [np.zeros_like(part) for part in parts]
        self.scratch = [np.empty_like(part) for part in parts]

    def step(self, gradients: list[Array]) -> None:
        """Move each part against its gradient, which is overwritten. All in place: fresh arrays would cost as much."""
        self.time += 1
        rate = np.float32(self.rate * np.sqrt(1 - BETA2**self.time) / (1 - BETA1**self.time))
        for part, mean, square, scratch, gradient in zip(
            self.parts, self.means, self.squares, self.scratch, gradients, strict=True
        ):
            mean *= np.float32(BETA1)
            np.multiply(gradient, np.float32(1 - BETA1), out=scratch)
            mean += scratch
            square *= np.float32(BETA2)
            gradient *= gradient
            gradient *= np.float32(1 - BETA2)
            square += gradient
            np.sqrt(square, out=scratch)
            scratch += np.float32(EPSILON)
            np.divide(mean, scratch, out=scratch)
            scratch *= rate
            part -= scratch


def autoencoder_gradients(
    data: Array, weights: list[Array], biases: list[Array], n_layers: int, noise: Array
) -> tuple[float, list[Array]]:
    """Return the summed cross-entropy of a minibatch, and the mean gradients of the weights, then of the biases.

    The first ``n_layers`` layers encode, the others decode; all units are logistic but the last ones, a softmax over
    the terms. ``noise`` is added to the input of layer ``n_layers``.
    """
    lengths = data.sum(axis=1, keepdims=True)
    target = data / np.where(lengths > 0, lengths, 1)
    activities = [data]
    for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        inputs = activities[-1] @ weight + bias
        if layer == n_layers - 1:
            inputs += noise
        activities.append(softmax(inputs) if layer == len(weights) - 1 else sigmoid(inputs))
    words = activities[-1]
    cost = -float((target * np.log(np.maximum(words, np.float32(1e-30)))).sum())
    # A blank document has no words to reconstruct.
    error = (words * (lengths > 0) - target) / np.float32(len(data))
    weight_gradients, bias_gradients = [], []
    for layer in range(len(weights) - 1, -1, -1):
        below = activities[layer]
        weight_gradients.append(below.T @ error)
        bias_gradients.append(error.sum(axis=0))
        if layer:
            error = (error @ weights[layer].T) * below * (1 - below)
    return cost, [*reversed(weight_gradients), *reversed(bias_gradients)]
