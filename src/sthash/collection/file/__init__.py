"""The file of a collection: SQLite, its journal, its replacement, the documents, and the segments of indexes."""
