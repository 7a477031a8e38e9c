from sthash.text.options import TextOptions as TextOptions
from sthash.text.vectorizer import CorpusCounter as CorpusCounter
from sthash.text.vectorizer import TextVectorizer as TextVectorizer
