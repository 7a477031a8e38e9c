"""Where the tests keep what they share."""

from pathlib import Path

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
GOLDEN_COLLECTIONS = TESTS / "collection" / "golden"
