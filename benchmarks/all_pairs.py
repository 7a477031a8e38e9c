"""The slow truth that near-duplicates are measured against."""


def exact_pairs(X, at_least):
    """All pairs of rows with this cosine, by brute force."""
    pairs = set()
    for start in range(0, X.shape[0], 2000):
        block = (X[start : start + 2000] @ X.T).tocoo()
        close = (block.data >= at_least) & (block.col > block.row + start)
        pairs.update(zip((block.row[close] + start).tolist(), block.col[close].tolist(), strict=True))
    return pairs
