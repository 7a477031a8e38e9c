"""The figures of docs/scaling.md are those that its formulas give."""

import json
import math

import numpy as np
import pytest

import scaling_plan as plan


def test_the_page_has_the_figures_of_the_plan():
    page = plan.PAGE.read_text(encoding="utf-8")
    assert plan.filled(page) == page, "run: python tools/scaling_plan.py"
    assert page.count("| 128 | 3 |") == 1


def test_shuffle_of_few_codes_is_what_is_sent():
    """Below a block, each code is sent once per band, and once to be made distinct."""
    assert plan.shuffle_bytes(1000, 800, 64, 3, 0.0) == 1000 * 24 + 800 * 4 * 56
    assert plan.row_bytes(65, 5) == plan.row_bytes(128, 5) == 64


def test_the_formula_gives_what_spark_has_shuffled():
    for documents, distinct, measured in plan.SHUFFLED:
        formula = plan.shuffle_bytes(documents, distinct, 64, 3, plan.PAIR_SHARES[64, 3].sharing)
        assert measured / formula == pytest.approx(plan.Measured().compressed, rel=0.05)


def test_growth_goes_through_what_was_measured():
    for documents, pairs in plan.PAIRS_FOUND.items():
        assert plan.grown_pairs(documents) == pytest.approx(pairs, rel=0.02)
    assert plan.grown_pairs(2e9) / plan.grown_pairs(1e9) == pytest.approx(2.5, abs=0.01)


def test_copies_are_those_of_blocks():
    """A bucket of m blocks sends each of its codes m times; codes of all other buckets go once."""
    sizes = np.array([5 * plan.BLOCK, *[100] * 20_000])
    total = sizes.sum()
    sent = sum(size * max(1, math.ceil(size / plan.BLOCK)) for size in sizes) / total
    share = float((sizes * (sizes - 1.0)).sum() / (total * (total - 1.0)))
    # The formula counts one block more than there are in a large bucket, and none in a small one.
    assert sent <= plan.copies(total, share, 1) <= sent + 1


def test_numbers_are_short():
    assert plan.bytes_(1.234e12) == "1.2 TB"
    assert plan.bytes_(16e9) == "16 GB"
    assert plan.count(2.04e13) == "2.0 · 10^13"


def test_a_million_documents_are_shown_as_they_were_measured(tmp_path, monkeypatch):
    rows = []
    for learned, on, share in (("all", 1_000_000, 0.61), ("20000", 20_000, 0.3)):
        stages = {"reading": 9.0, "graph": 60.0, "embedding": 90.4, "bits": 1.0, "hash functions": 30.0}
        details = {"stages": stages, "learning s": 181.4, "GiB peak": 6.25}
        build = {"id": f"build-{learned}", "ours": 240.2, "details": details}
        rows.append(build | {"setting": {"documents": 1_000_000, "learned on": on}})
        rows += [{"id": f"{kind}-{learned}", "ours": share} for kind in ("share", "typed", "passages")]
    path = tmp_path / "scaling-million.json"
    path.write_text(json.dumps({"quick": False, "rows": rows}))
    monkeypatch.setattr(plan, "RESULTS", path)
    plan.million.cache_clear()
    try:
        head, few, whole = plan.million_rows()
        assert len(head) == len(few) == len(whole)
        assert few[:2] == ["20,000", "0.300"]
        assert whole[:5] == ["all 1,000,000", "0.610", "240 s", "181 s (60, 90, 1, 30)", "6.2 GiB"]
        assert plan.Measured().learned_per_second == pytest.approx(1_000_000 / 181.4)
        assert "| all 1,000,000 | 0.610 |" in plan.filled(plan.PAGE.read_text(encoding="utf-8"))
        path.write_text(json.dumps({"quick": True, "rows": rows}))
        plan.million.cache_clear()
        with pytest.raises(ValueError, match="quick run"):
            plan.million()
    finally:
        plan.million.cache_clear()


def test_a_deduplication_takes_its_steps_for_each_text(tmp_path, monkeypatch):
    details = {"reading µs": 9.0, "distributing µs": 3.0, "comparing µs": 15.0}
    row = {"what": "500,000 short texts, per text", "details": details | {"bytes on the disk": 812, "bytes noted": 9}}
    (tmp_path / "steps.json").write_text(json.dumps({"quick": False, "rows": [row]}))
    monkeypatch.setattr(plan, "STEPS", tmp_path / "steps.json")
    plan.dedup_steps.cache_clear()
    try:
        rows = list(plan.dedup_rows(documents=10**8, cores=2))
    finally:
        plan.dedup_steps.cache_clear()
    assert rows[0] == ["per text", "500,000 short texts", "N = 100,000,000"]
    assert rows[1][1:] == ["9.0 µs", "N · 9.0 µs = 0.2 core hours"]
    assert rows[4][1:] == ["1,000 B", "N · 1,000 = 100 GB"]
    # Reading on one core, the rest on two: (9 + 18 / 2) µs each.
    assert rows[-1][-1] == "0.5 hours"
    assert {len(row) for row in rows} == {3}
