"""How indexes live in the file of a collection: words, codes and cells."""
