"""From documents to a file: store, learn, encode."""
