"""What tests of several packages share: corpora, slow twins, harnesses. Imported as ``support.NAME``."""
