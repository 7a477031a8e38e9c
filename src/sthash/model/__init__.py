"""The one way from a document to its code: `TextModel` for texts, `VectorModel` for your own vectors."""

from __future__ import annotations

from sthash.model.base import Model
from sthash.model.encoded import Encoded, Margins
from sthash.model.learning import Learning
from sthash.model.text_model import TextModel
from sthash.model.vector_model import VectorModel

__all__ = ["Encoded", "Learning", "Margins", "Model", "TextModel", "VectorModel"]
