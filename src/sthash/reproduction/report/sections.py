"""The sections of the report, as Markdown."""

from __future__ import annotations

from collections.abc import Callable

from sthash.reproduction.conditions import Experiment
from sthash.reproduction.report.claims import p_text
from sthash.reproduction.report.markup import table
from sthash.reproduction.report.summary import RELEVANCE_TITLES, Summary, spread

Draw = Callable[[str, str, str], str]


def data_section(summary: Summary) -> str:
    """Tabulate the corpora."""
    rows = []
    for experiment in summary.experiments:
        found = summary.scores(experiment, summary.methods(experiment)[0])[0]["documents"]
        fewer = [f"{name} {n}" for name, n in experiment.fewer_splits.items() if summary.has(experiment, name)]
        splits = f"{experiment.splits}" + (f" ({', '.join(fewer)})" if fewer else "")
        categories = (experiment.documents or {}).get("categories", "")
        digest = f"`{experiment.digest}`" if experiment.digest else "–"
        rows.append((experiment.title, found["train"], found["test"], found["terms"], categories, splits, digest))
    headings = ("corpus", "documents", "queries", "terms", "categories", "random splits", "content")
    dense = [one.title for one in summary.experiments if one.dense]
    vectors = f" {', '.join(dense)}: dense vectors, scaled to unit length; *terms* are their values." if dense else ""
    ours = [one.title for one in summary.experiments if one.ours]
    added = f" {', '.join(ours)}: not in the paper, so its claims are not judged there." if ours else ""
    return (
        "## Data\n\nTerms are weighted (1 + ln tf) · ln(N / df), with N and df of the training documents."
        f"{vectors}{added} A corpus with one split has the usual split. For several random splits, the tables show the "
        "mean ± one standard deviation. Slow methods run on fewer splits; the number is in brackets. *Content* is a "
        "SHA-256 of texts, counts or vectors and labels, which was checked.\n\n" + table(headings, rows)
    )


def score_section(summary: Summary) -> str:
    """Tabulate every method at 16 bits and radius 1, its best F1, its votes and its rankings."""
    condition = summary.run.protocol["significance"]
    bits, radius = condition["bits"], condition["radius"]
    k = summary.run.protocol["ranking"]
    parts = [
        "## Scores\n\nP, R and F1 are averages over the queries as the authors compute them (an empty answer has "
        "precision 1). F1 is that of the two averages. For F1⁰ an empty answer has precision 0. *Mean F1* is the "
        "average of the F1 of each query's own answer, 0 for an empty one. *Answered* is the share of the queries with "
        "a non-empty answer. *Votes* is the accuracy of the majority label in the ball. *Best F1⁰* is the best over "
        "all lengths and radii, with bits and radius in brackets. Rankings are by Hamming distance, with ties in "
        f"expectation: P@{k} is the precision of the first {k}, MAP is the mean average precision. On a corpus with "
        "one split, ± is half the 95 % interval over the queries, as far as it is given; over several splits it is one "
        "standard deviation. Recipes marked as ours are not in the paper."
    ]
    for experiment in summary.experiments:
        for relevance, title in RELEVANCE_TITLES.items():
            shown = summary.lengths
            topics = relevance == "topics"
            headings = [
                "method",
                "P",
                "R",
                "F1",
                "F1⁰",
                "mean F1",
                "answered",
                *(["votes"] if topics else []),
                "best F1⁰",
            ]
            headings += [f"P@{k}, {n} bits" for n in shown] + [f"MAP, {n} bits" for n in shown]
            rows = []
            for method in summary.methods(experiment):
                best = summary.best(experiment, method, relevance, "f1_strict")
                ball = summary.ball(experiment, method, relevance, bits, radius)
                row = [method.title, *(ball[name].text() for name in ("precision", "recall", "f1", "f1_strict"))]
                row.append(ball.text("mean_f1", "mean_f1_error"))
                row += [ball[name].text() for name in ("answered", *(["accuracy"] if topics else []))]
                row.append(f"{best['f1_strict'].mean:.3f} ({best.n_bits}, {best.radius})")
                for measure, error in (
                    ("precision_at_k", "precision_error"),
                    ("mean_average_precision", "average_precision_error"),
                ):
                    ranking = summary.ranking_text(experiment, method, relevance, measure, error)
                    row += [ranking[n] for n in shown]
                rows.append(row)
            parts.append(f"### {experiment.title}, {title}: {bits} bits, radius {radius}\n\n{table(headings, rows)}")
    return "\n\n".join(parts)


def significance_section(summary: Summary) -> str:
    """Tabulate the sign tests of STH against each baseline."""
    condition = summary.run.protocol["significance"]
    level = condition["level"]
    rows = []
    for experiment in summary.experiments:
        for method in summary.methods(experiment):
            tests = summary.outcome.of("significance", experiment.name, method.name)
            for relevance, title in RELEVANCE_TITLES.items() if tests else ():
                found = [test[relevance] for test in tests]
                won, lost = (sum(one[side] for one in found) for side in ("a_right", "b_right"))
                largest = max(one["log10_p_value"] for one in found)
                smaller = sum(one["p_value"] < condition["level"] for one in found)
                rows.append(
                    (
                        experiment.title,
                        method.title,
                        title,
                        f"{won:,}",
                        f"{lost:,}",
                        p_text(largest),
                        f"{smaller} of {len(found)}",
                        *(_paired([one[test] for one in found], level) for test in ("query_f1", "query_precision")),
                    )
                )
    if not rows:
        return ""
    headings = (
        "corpus",
        "STH against",
        "relevance",
        "only STH right",
        "only baseline right",
        "p",
        f"splits with p < {level}",
        "mean F1, difference",
        f"P@{summary.run.protocol['ranking']}, difference",
    )
    return (
        "## Significance\n\nThe one-sided micro sign test (Yang & Liu 1999). There is one decision per query and "
        "document. The test counts the decisions on which exactly one of two systems is right, at "
        f"{condition['bits']} bits and radius {condition['radius']}. It is exact, also for large counts. A small p "
        "says that STH is better. A p near 1 says that the baseline is better: a system that retrieves little is right "
        "about nearly everything that it does not retrieve. Counts are sums over the splits; p is the largest one of "
        "the splits.\n\nThe sign test takes all decisions for independent. Those of one query share its code, and "
        "those on one document share that document's, so its p-values are far too small: they show a direction, not "
        "how sure it is. Queries are independent. So the last two columns compare one value per query: the F1 of its "
        "answer in the ball, and the precision of its ranking. They show the mean difference (STH minus baseline), its "
        "95 % bootstrap interval, and the p-value of the two-sided randomization test with 10,000 resamples; over "
        "several splits the mean of the differences, and how many of the tests are significant.\n\n"
        + table(headings, rows, words=3)
    )


def _paired(found: list[dict[str, float]], level: float) -> str:
    if len(found) == 1:
        one = found[0]
        return f"{one['difference']:+.3f} ({one['low']:+.3f} to {one['high']:+.3f}), p = {one['p_value']:.4f}"
    mean = spread(one["difference"] for one in found)
    smaller = sum(one["p_value"] < level for one in found)
    return f"{mean.mean:+.3f} ± {mean.deviation:.3f}, p < {level} in {smaller} of {len(found)}"


def variants_section(summary: Summary) -> str:
    """Tabulate other choices for the stages, and the number of neighbors against how many are wanted."""
    run = summary.run
    wanted = [str(k) for k in run.conditions.variants.get("wanted", ())]
    k = str(run.protocol["neighbors"])
    parts = []
    for group in run.conditions.variant_groups():
        lines, sweep = [], []
        for experiment in run.experiments:
            for variant in group.variants:
                for result in summary.outcome.of("variant", experiment.name, variant.name):
                    scores, seconds = result["scores"], result["seconds"]
                    near = scores.get(k) or scores[wanted[0]]
                    lines.append(
                        [
                            experiment.title,
                            variant.title,
                            *(f"{one['precision_at_k']:.3f}" for one in scores["topics"]),
                            *(f"{one['mean_average_precision']:.3f}" for one in near),
                            *(f"{max(ball['f1_strict'] for ball in one['balls']):.3f}" for one in near),
                            f"{seconds['fit']:.2f}",
                            f"{seconds['encode']:.3f}",
                        ]
                    )
                    cells = [f"{scores[number][-1]['mean_average_precision']:.3f}" for number in wanted]
                    sweep.append([experiment.title, variant.title, *cells])
        if not lines:
            continue
        lengths = run.conditions.variants["lengths"]
        headings = ["corpus", "variant", *(f"topics P@{run.protocol['ranking']}, {n} bits" for n in lengths)]
        headings += [f"neighbors MAP, {n} bits" for n in lengths]
        headings += [f"neighbors best F1⁰, {n} bits" for n in lengths] + ["fit, s", "encode, s"]
        parts.append(f"### {group.title}\n\n{group.about.strip()}\n\n{table(headings, lines, words=2)}")
        if group.sweep:
            headings = ["corpus", "graph", *(f"{number} wanted" for number in wanted)]
            parts.append(
                f"MAP at {lengths[-1]} bits, by the number of nearest neighbors that are relevant:\n\n"
                + table(headings, sweep, words=2)
            )
    if not parts:
        return ""
    return (
        "## Other choices for the stages\n\nEach row changes one stage of the method and leaves the others as they "
        f"are. First split. *Topics*: documents of the same category. *Neighbors*: the {k} nearest. *Best F1⁰* is that "
        "of the best radius; an empty answer has precision 0. Seconds are for all documents and for all queries.\n\n"
        + "\n\n".join(parts)
    )


def error_section(summary: Summary) -> str:
    """Tabulate quality after each step."""
    settings = summary.run.protocol["error_analysis"]
    parts = []
    for experiment in summary.run.experiments:
        for result in summary.outcome.of("error_analysis", experiment.name, "sth"):
            for kind, words in (("unseen", "unseen documents"), ("seen", "documents of the corpus, each left out")):
                rows = result[kind]
                steps = list(dict.fromkeys(row["step"] for row in rows))
                cells = {(row["step"], row["bits"]): row for row in rows}
                headings = ["after"]
                headings += [f"neighbors, {n} bits" for n in settings["lengths"]]
                headings += [f"topics, {n} bits" for n in settings["lengths"]]
                lines = [
                    [
                        step,
                        *(
                            f"{(cells.get((step, n)) or cells[step, 0])[relevance]:.3f}"
                            for relevance in RELEVANCE_TITLES
                            for n in settings["lengths"]
                        ),
                    ]
                    for step in steps
                ]
                parts.append(
                    f"### {experiment.title}, {words} ({result['queries'][kind]} queries)\n\n{table(headings, lines)}"
                )
    if not parts:
        return ""
    k, at = settings["neighbors"], settings["ranking"]
    return (
        "## Error analysis\n\nThe same documents are searched for after each step. *Neighbors* is the share of the "
        f"{k} nearest original vectors among the {k} nearest of the step. *Topics* is the share of documents on the "
        f"topic of the query among the {at} nearest. Original vectors are ranked by cosine, the eigenmap by Euclidean "
        "distance (by cosine where the row says so; claims take the better of the two), codes by Hamming distance "
        "with ties in expectation.\n\n"
        "An unseen document is not part of the eigenmap of the corpus. So stage 1 ran once over corpus and queries "
        "together, which gives the queries the positions and codes that they would have had. SVMs, learned from the "
        "part of these codes that belongs to the corpus, then predict the codes of the queries. Only one step changes "
        "from each row to the next. The last row is the method itself, whose stage 1 has only the corpus. Thresholds "
        "are medians over the corpus.\n\n" + "\n\n".join(parts)
    )


def efficiency_section(summary: Summary) -> str:
    """Tabulate the seconds per document, and how the codes fill their space."""
    given = summary.run.protocol["paper"]
    headings = ["method", *(f"{one.title}, {what}" for one in summary.experiments for what in ("train", "predict"))]
    rows = [
        [
            "the paper (Matlab, Pentium 4)",
            *([f"{given['train_seconds']}", f"{given['predict_seconds']}"] * len(summary.experiments)),
        ]
    ]
    for method in summary.run.methods:
        row = [method.title]
        for experiment in summary.experiments:
            seconds = [one["seconds"] for one in summary.scores(experiment, method)]
            for key in ("fit_a_document", "encode_a_document"):
                row.append(f"{spread(one[key] for one in seconds).mean:.2g}" if seconds else "–")
        rows.append(row)
    return (
        "## Efficiency\n\nSeconds per document for the longest code (64 bits), from vectors to codes. Prediction is "
        "one batch of all queries; the fastest run counts.\n\n" + table(headings, rows) + "\n\n" + _shapes(summary)
    )


def _shapes(summary: Summary) -> str:
    longest, short = summary.run.protocol["lengths"][-1], summary.run.protocol["significance"]["bits"]
    parts = [
        "### How the codes fill their space\n\nEntropy of the codes of the corpus in bits; the smallest and the "
        "largest share of ones of a bit; mean and largest |correlation| of two bits; "
        f"number of buckets that {short}-bit codes use, documents in the largest bucket, and share of the documents "
        "that are alone in a bucket. First split."
    ]
    for experiment in summary.experiments:
        rows = []
        for method in summary.methods(experiment):
            shape = summary.scores(experiment, method)[0]["shape"]
            long, tight = shape[str(longest)], shape[str(short)]
            row = [
                method.title,
                f"{tight['entropy']:.2f}",
                f"{long['entropy']:.2f}",
                f"{long['least_on']:.3f}–{long['most_on']:.3f}",
                f"{long['mean_correlation']:.3f} / {long['largest_correlation']:.2f}",
                f"{tight['buckets']:,}",
                f"{tight['largest_bucket']:,}",
                f"{tight['alone']:.1%}",
            ]
            rows.append(row)
        headings = [
            "method", f"entropy, {short} bits", f"entropy, {longest} bits", f"ones, {longest} bits",
            f"|r|, {longest} bits", "buckets", "largest", "alone",
        ]  # fmt: skip
        parts.append(f"**{experiment.title}**\n\n{table(headings, rows)}")
    return "\n\n".join(parts)


def failures_section(summary: Summary) -> str:
    """List what could not be measured, and why."""
    if not summary.outcome.failures:
        return ""
    rows = [
        (job.dataset, job.split, job.kind, job.method, message) for job, message in summary.outcome.failures.items()
    ]
    return "## What failed\n\n" + table(("corpus", "split", "what", "method", "error"), rows, words=5)


def conditions_section(summary: Summary, machine: dict[str, str]) -> str:
    """State the machine, versions and seeds."""
    rows = [*machine.items()]
    rows += [
        ("random splits", "; ".join(f"{one.title}: seeds 0–{one.splits - 1}" for one in _random(summary)) or "none")
    ]
    rows += [("random_state of the methods", "0; of the recipes " + _seeds(summary))]
    rows += [
        (
            "code lengths",
            "each learned separately" if summary.run.relearn else _prefixes(summary),
        )
    ]
    took = sum(float(result["took"]) for result in summary.outcome.results.values())
    rows += [("all measurements took", f"{took / 60:.1f} minutes")]
    return (
        "## Conditions\n\n" + table(("what", "value"), rows, words=2) + "\n\nThe conditions and expected scores are "
        "data, `src/sthash/reproduction/experiments/*.yaml`. STH has the settings of the paper. Those of the other "
        "recipes, the rates and epochs of the stacked RBM and the rare terms of LCH were chosen on held-out training "
        "documents, never on test queries."
    )


def _random(summary: Summary) -> list[Experiment]:
    return [one for one in summary.run.experiments if one.splits > 1]


def _seeds(summary: Summary) -> str:
    return ", ".join(map(str, summary.run.conditions.recipes.get("seeds", []))) if summary.run.recipes else "not run"


def _prefixes(summary: Summary) -> str:
    ordered = [method.title for method in summary.run.methods if method.lengths == "prefix"]
    if not ordered:
        return "each learned separately"
    longest = summary.run.protocol["lengths"][-1]
    return f"each learned separately; {', '.join(ordered)}: {longest} bits learned once, shorter codes are prefixes"
