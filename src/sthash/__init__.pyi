from sthash.applications import KNNHashClassifier as KNNHashClassifier
from sthash.applications import classify as classify
from sthash.client import Client as Client
from sthash.client import ServiceError as ServiceError
from sthash.collection import Collection as Collection
from sthash.collection import CollectionError as CollectionError
from sthash.collection import Embedder as Embedder
from sthash.collection import Hit as Hit
from sthash.collection import Hits as Hits
from sthash.collection import VectorOptions as VectorOptions
from sthash.duplicates import Deduplicator as Deduplicator
from sthash.duplicates import near_duplicates as near_duplicates
from sthash.hashing import EmbeddingQuantizer as EmbeddingQuantizer
from sthash.hashing import SelfTaughtHashing as SelfTaughtHashing
from sthash.index import HammingIndex as HammingIndex
from sthash.index import VectorIndex as VectorIndex
from sthash.index import WordIndex as WordIndex
from sthash.loading import load as load
from sthash.model import Learning as Learning
from sthash.model import TextModel as TextModel
from sthash.model import VectorModel as VectorModel
from sthash.model_file import ModelFileError as ModelFileError
from sthash.sources import Document as Document
from sthash.text import TextVectorizer as TextVectorizer
from sthash.text.options import TextOptions as TextOptions

__version__: str
