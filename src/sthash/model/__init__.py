"""The one way from a document to its code: `TextModel` for texts, `VectorModel` for vectors of your own."""

from __future__ import annotations

from sthash.model.base import Model
from sthash.model.encoded import EncodedRows, Margins
from sthash.model.text_model import TextModel
from sthash.model.vector_model import VectorModel

__all__ = ["EncodedRows", "Margins", "Model", "TextModel", "VectorModel"]
